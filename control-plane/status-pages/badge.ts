/** The state of a page as a badge, and as JSON for badge services. */
import type { makeBadge } from 'badge-maker';
import type { Locale } from './languages/locale.ts';
import { isKnown, knownState } from './view/states.ts';
import type { StatusPageView } from './view/view.ts';
import { stateColor } from './html/palette.ts';

const styles = ['flat', 'flat-square', 'plastic', 'for-the-badge', 'social'] as const;
export type BadgeStyle = (typeof styles)[number];

/** Unknown styles become `flat`. */
export function parseBadgeStyle(text: string): BadgeStyle {
  return styles.find((style) => style === text) ?? 'flat';
}

/** Loaded when a badge is asked for: the widths of its characters fill megabytes. */
export const loadBadgeMaker = async (): Promise<typeof makeBadge> =>
  (await import('badge-maker')).makeBadge;

const messageOf = (view: StatusPageView, locale: Locale): string =>
  locale.texts.inSentence(isKnown(view) ? locale.state(view.state) : locale.texts.noProblemKnown);
const colorOf = (view: StatusPageView): string => stateColor(knownState(view));

export function badgePicture(
  draw: typeof makeBadge,
  view: StatusPageView,
  locale: Locale,
  style: BadgeStyle,
): string {
  return draw({
    label: view.page.name,
    message: messageOf(view, locale),
    color: colorOf(view),
    style,
  });
}

/** The endpoint format of badge services. */
export function badgeDocument(view: StatusPageView, locale: Locale): object {
  return {
    schemaVersion: 1,
    label: view.page.name,
    message: messageOf(view, locale),
    color: colorOf(view),
    isError: view.state === 'major_outage',
  };
}
