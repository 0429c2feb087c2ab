/** The frame of every page: head, header, footer, and the content security policy. */
import { createHash } from 'node:crypto';
import type { PageLook } from '../view/facts.ts';
import type { ServiceState } from '../view/states.ts';
import { represent, type Representation } from '../../http/representation.ts';
import { html, Markup, pictureAddress, webAddress } from '../../core/html.ts';
import { tabIcon } from './icons.ts';
import { linkTo, withQuery, type Place } from './place.ts';
import { paletteCss, stateColor } from './palette.ts';
import { styleSheetOf } from './style.ts';
import { nameOf } from '../languages/locale.ts';

type Look = Pick<
  PageLook,
  'name' | 'theme' | 'themeColors' | 'logo' | 'logoDark' | 'favicon' | 'redirectTo'
>;

interface Frame {
  /** Null for visitors who may not know which page it is. */
  look: Look | null;
  place: Place;
  title: string;
  /** For link previews. */
  description?: string;
  /** Null where nobody knows it, and absent from a page that is about no state. */
  state?: ServiceState | null;
  /** Path below the base, such as `/history`; null for a page without an address. */
  path: string | null;
  query?: Readonly<Record<string, string>>;
  /** True when feeds are advertised. */
  isPublic: boolean;
  canSubscribe?: boolean;
  main: Markup;
  footer?: Markup;
  status?: number;
}

/** No referrers: URLs of this page may contain tokens. */
const securityHeaders = {
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
};

function policyFor(css: string): string {
  const hash = createHash('sha256').update(css).digest('base64');
  return [
    "default-src 'none'",
    `style-src 'sha256-${hash}'`,
    "img-src https: data: 'self'",
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
}

function brand(look: Look, place: Place): Markup {
  const light = pictureAddress(look.logo);
  const dark = pictureAddress(look.logoDark) ?? light;
  const logo = look.theme === 'DARK' ? dark : (light ?? dark);
  const inDark = look.theme === 'AUTO' && dark !== logo && dark !== null;
  const picture = logo !== null && html`<img src="${logo}" alt="${look.name}" />`;
  const shown = inDark
    ? html`<picture
        ><source media="(prefers-color-scheme: dark)" srcset="${dark}" />
        ${picture}</picture
      >`
    : picture || html`${look.name}`;
  return html`<a class="brand" href="${webAddress(look.redirectTo) ?? linkTo(place, '/')}"
    >${shown}</a
  >`;
}

function navigation({ place, path, canSubscribe }: Frame): Markup {
  const words = place.locale.texts.frame;
  const link = (to: string, text: string): Markup =>
    html`<a href="${linkTo(place, to)}" ${path === to && new Markup('aria-current="page"')}
      >${text}</a
    >`;
  return html`<nav aria-label="${words.pages}">
    ${link('/', words.status)}${link('/history', words.history)}${
      canSubscribe === true &&
      html`<a class="button" href="${linkTo(place, '/')}#subscribe">${words.subscribe}</a>`
    }
  </nav>`;
}

const feedTypes = { rss: 'rss+xml', atom: 'atom+xml', json: 'feed+json' };

function feeds(place: Place): Markup {
  return html`${Object.entries(feedTypes).map(
    ([name, type]) =>
      html`<link
        rel="alternate"
        type="application/${type}"
        href="${linkTo(place, `/feed.${name}`)}"
      />`,
  )}`;
}

/** The address of a page, also in each language that visitors may choose. */
function addresses({ place, path, query }: Frame & { path: string }): Markup {
  const own = place.address + withQuery(path, { ...query, ...place.chosen });
  const inLanguage = (language: string): string =>
    place.address + withQuery(path, { ...query, ...place.chosen, language });
  return html`<meta property="og:url" content="${own}" /><link rel="canonical" href="${own}" />${
      place.languages.length > 1 &&
      place.languages.map(
        (language) =>
          html`<link rel="alternate" hreflang="${language}" href="${inLanguage(language)}" />`,
      )
    }`;
}

/** Links to the same page in the other languages. */
function languageLinks({ place, path, query }: Frame): Markup | false {
  const { languages, locale } = place;
  if (languages.length < 2 || path === null) return false;
  return html`<nav aria-label="${locale.texts.frame.languages}">
    ${languages.map(
      (language) =>
        html`<a
          href="${withQuery(place.base + path, { ...query, ...place.chosen, language })}"
          lang="${language}"
          hreflang="${language}"
          ${language === locale.language && new Markup('aria-current="true"')}
          >${nameOf(language)}</a
        >`,
    )}
  </nav>`;
}

/** A complete page as a response. */
export function document(frame: Frame): Representation {
  const { look, place, path, state = null, description = '' } = frame;
  const { locale } = place;
  const css =
    paletteCss(look ?? { theme: 'AUTO', themeColors: null }, state ?? 'operational') +
    styleSheetOf(locale);
  const links = languageLinks(frame);
  const favicon = pictureAddress(look?.favicon ?? null) ?? tabIcon(state, stateColor(state));
  const isFound = frame.isPublic && path !== null && (frame.status ?? 200) === 200;
  const { text } = html`<!doctype html>
    <html lang="${locale.language}" dir="${locale.direction}">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>${frame.title}</title>
        ${
          isFound
            ? html`<meta name="description" content="${description}" />
                <meta property="og:type" content="website" />
                <meta property="og:title" content="${frame.title}" />
                <meta property="og:description" content="${description}" />
                ${addresses({ ...frame, path })}${feeds(place)}`
            : html`<meta name="robots" content="noindex" />`
        }
        <link rel="icon" href="${favicon}" />
        <style>
          ${new Markup(css)}
        </style>
      </head>
      <body>
        <a class="skip" href="#main">${locale.texts.frame.skip}</a>
        ${
          look !== null &&
          html`<header class="top">
            <div class="wrap">${brand(look, place)}${navigation(frame)}</div>
          </header>`
        }
        <main id="main" class="wrap" tabindex="-1">${frame.main}</main>
        ${
          (frame.footer !== undefined || links !== false) &&
          html`<footer><div class="wrap">${frame.footer ?? false}${links}</div></footer>`
        }
      </body>
    </html> `;
  // The policy contains the hash of exactly this text.
  const exact = text.replace(/<style>\s*/, '<style>').replace(/\s*<\/style>/, '</style>');
  return represent(
    exact,
    {
      ...securityHeaders,
      'Content-Type': 'text/html; charset=utf-8',
      'Content-Security-Policy': policyFor(css),
    },
    frame.status,
  );
}
