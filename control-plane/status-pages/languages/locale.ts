/** How a page says things: its texts, and instants, durations, lists and shares in its language. */
import type { z } from 'zod';
import type { language } from '@monitor/shared/contract/status-page.ts';
import { html, type Markup } from '../../core/html.ts';
import type { IncidentView } from '../view/incidents.ts';
import type { NoticeView } from '../view/notices.ts';
import type { StatusPageView } from '../view/view.ts';
import { isKnown, type ServiceState } from '../view/states.ts';
import { ar } from './ar.ts';
import { de } from './de.ts';
import { en, type Texts } from './en.ts';
import { es } from './es.ts';
import { fr } from './fr.ts';
import { ja } from './ja.ts';

export type Language = z.infer<typeof language>;

interface Spoken {
  texts: Texts;
  /** The locale of numbers and dates. Technical pages in Arabic have Latin digits. */
  tag: string;
  direction: 'ltr' | 'rtl';
}

const spoken: Record<Language, Spoken> = {
  en: { texts: en, tag: 'en-GB', direction: 'ltr' },
  de: { texts: de, tag: 'de', direction: 'ltr' },
  fr: { texts: fr, tag: 'fr', direction: 'ltr' },
  es: { texts: es, tag: 'es', direction: 'ltr' },
  ja: { texts: ja, tag: 'ja', direction: 'ltr' },
  ar: { texts: ar, tag: 'ar-u-nu-latn', direction: 'rtl' },
};

export function nameOf(language: Language): string {
  return spoken[language].texts.name;
}

const minuteMs = 60_000;

function timeElement(instant: number, text: string): Markup {
  return html`<time datetime="${new Date(instant).toISOString()}">${text}</time>`;
}

/** A value that costs much and is often not asked for. */
function once<T>(make: () => T): () => T {
  let made: { value: T } | undefined;
  return () => (made ??= { value: make() }).value;
}

/** What depends on the language alone, once for all time zones. */
function formatsOf(tag: string) {
  return {
    list: once(() => new Intl.ListFormat(tag, { type: 'conjunction' })),
    duration: once(() => new Intl.DurationFormat(tag, { style: 'long' })),
    percent: once(
      () =>
        new Intl.NumberFormat(tag, {
          style: 'percent',
          minimumFractionDigits: 2,
          maximumFractionDigits: 2,
          trailingZeroDisplay: 'stripIfInteger',
          // 100 % means no downtime at all.
          roundingMode: 'floor',
        }),
    ),
    relative: once(() => new Intl.RelativeTimeFormat(tag)),
  };
}

const formats = Object.fromEntries(
  Object.entries(spoken).map(([language, { tag }]) => [language, formatsOf(tag)]),
) as Record<Language, ReturnType<typeof formatsOf>>;

/** Making one costs nothing: a request that is refused has formatted nothing. */
export class Locale {
  readonly language: Language;
  readonly timezone: string;
  readonly direction: 'ltr' | 'rtl';
  readonly texts: Texts;
  readonly #formats: ReturnType<typeof formatsOf>;
  readonly #day: () => Intl.DateTimeFormat;
  readonly #month: () => Intl.DateTimeFormat;
  readonly #instant: () => Intl.DateTimeFormat;

  constructor(language: Language, timezone: string) {
    const { texts, tag, direction } = spoken[language];
    this.language = language;
    this.timezone = timezone;
    this.direction = direction;
    this.texts = texts;
    this.#formats = formats[language];
    const format = (options: Intl.DateTimeFormatOptions) =>
      once(() => new Intl.DateTimeFormat(tag, { timeZone: timezone, ...options }));
    this.#day = format({ day: 'numeric', month: 'short' });
    this.#month = format({ month: 'long', year: 'numeric' });
    this.#instant = format({
      day: 'numeric',
      month: 'short',
      year: 'numeric',
      hour: '2-digit',
      minute: '2-digit',
      hourCycle: 'h23',
      timeZoneName: 'short',
    });
  }

  /** `21 Nov`, without the year. */
  day(instant: number): string {
    return this.#day().format(instant);
  }

  /** `November 2026`. */
  month(instant: number): string {
    return this.#month().format(instant);
  }

  /** `21 Nov 2026, 08:05 UTC`. */
  instant(instant: number): string {
    return this.#isolated(this.#instant().format(instant));
  }

  time(instant: number): Markup {
    return timeElement(instant, this.instant(instant));
  }

  /** `21 Nov 2026, 22:00–23:30 UTC`; both days when they differ. */
  range(from: number, to: number): Markup {
    const parts = this.#instant().formatRangeToParts(from, to);
    const textOf = (source: string) =>
      parts.flatMap((part) => (part.source === source ? [part.value] : [])).join('');
    const first = parts.findIndex(({ source }) => source === 'startRange');
    const second = parts.findIndex(({ source }) => source === 'endRange');
    const shown = parts.map(({ source, value }, index) => {
      if (source === 'shared') return value;
      if (index === first) return timeElement(from, textOf('startRange'));
      return index === second ? timeElement(to, textOf('endRange')) : '';
    });
    return html`<bdi>${shown}</bdi>`;
  }

  /** The same without markup. */
  rangeText(from: number, to: number): string {
    return this.#isolated(this.#instant().formatRange(from, to));
  }

  /** `1 hour, 20 minutes`: the two largest units. */
  duration(ms: number): string {
    const minutes = Math.floor(ms / minuteMs);
    if (minutes < 1) return this.texts.lessThanAMinute;
    const parts: [Intl.DurationFormatUnit, number][] = [
      ['days', Math.floor(minutes / 1_440)],
      ['hours', Math.floor(minutes / 60) % 24],
      ['minutes', minutes % 60],
    ];
    const first = parts.findIndex(([, amount]) => amount > 0);
    return this.#formats.duration().format(Object.fromEntries(parts.slice(first, first + 2)));
  }

  daysAgo(count: number): string {
    return this.#formats.relative().format(-count, 'day');
  }

  /** Names of others: `Search, Checkout and Login`. */
  list(names: readonly string[]): string {
    return this.#formats.list().format(names.map((name) => this.#isolated(name)));
  }

  /** `99.98%`, rounded down; null without data. */
  uptime(uptime: number | null): string {
    return uptime === null ? this.texts.uptime.noData : this.#formats.percent().format(uptime);
  }

  /** The same of what is markup already. */
  markups(items: readonly Markup[]): Markup {
    const rest = [...items];
    return html`${this.#formats
      .list()
      .formatToParts(items.map(() => '-'))
      .map(({ type, value }) => (type === 'element' ? (rest.shift() ?? '') : value))}`;
  }

  /** Text that keeps its own direction, and turns nothing beside it: a name, the name of a zone. */
  #isolated(text: string): string {
    return this.direction === 'ltr' ? text : `\u2068${text}\u2069`;
  }

  state(state: ServiceState): string {
    return this.texts.states[state];
  }

  /** The headline of a whole page. */
  headline(view: Pick<StatusPageView, 'state' | 'isMeasured'>): string {
    if (!isKnown(view)) return this.texts.noProblemKnown;
    return view.state === 'operational' ? this.texts.allOperational : this.state(view.state);
  }

  status(status: IncidentView['status'] | NoticeView['status']): string {
    return this.texts.statuses[status];
  }
}

/** The newest locales by language and time zone; those that were used last stay. */
class LocaleCache {
  readonly #max: number;
  readonly #kept = new Map<string, Locale>();

  constructor(max: number) {
    this.#max = max;
  }

  get(language: Language, timezone: string): Locale {
    const key = `${language} ${timezone}`;
    const locale = this.#kept.get(key) ?? new Locale(language, timezone);
    this.#kept.delete(key);
    const [oldest] = this.#kept.keys();
    if (this.#kept.size >= this.#max && oldest !== undefined) this.#kept.delete(oldest);
    this.#kept.set(key, locale);
    return locale;
  }
}

const ofPages = new LocaleCache(100);
const ofVisitors = new LocaleCache(24);

/** The locale of a page in its time zone. */
export function localeOf(language: Language, timezone: string): Locale {
  return ofPages.get(language, timezone);
}

/** The locale of a visitor who chose a time zone: a list of them drives out no locale of a page. */
export function localeOfVisitor(language: Language, timezone: string): Locale {
  return ofVisitors.get(language, timezone);
}

/** The locale of visitors who chose none. */
export function localeOfPage(page: { language: Language; timezone: string }): Locale {
  return localeOf(page.language, page.timezone);
}
