/** The frame of every page: head, header, footer, and the content security policy. */
import { createHash } from 'node:crypto';
import type { PageLook } from '../view/facts.ts';
import type { ServiceState } from '../view/states.ts';
import { represent, type Representation } from '../../http/representation.ts';
import { html, Markup, pictureAddress, webAddress } from '../../core/html.ts';
import { tabIcon } from './icons.ts';
import { paletteCss, stateColor } from './palette.ts';
import { styleSheet } from './style.ts';

export interface Place {
  /** Prefix of all paths of the page; empty on a custom domain. */
  base: string;
  /** Public URL of the page. */
  address: string;
}

type Look = Pick<PageLook, 'name' | 'theme' | 'themeColors' | 'logo' | 'favicon' | 'redirectTo'>;

interface Frame {
  /** Null for visitors who may not know which page it is. */
  look: Look | null;
  place: Place;
  title: string;
  /** For link previews. */
  description?: string;
  state?: ServiceState;
  /** Path below the base, such as `/history`; null for a page without an address. */
  path: string | null;
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

function brand(look: Look, base: string): Markup {
  const logo = pictureAddress(look.logo);
  const shown = logo === null ? html`${look.name}` : html`<img src="${logo}" alt="${look.name}" />`;
  return html`<a class="brand" href="${webAddress(look.redirectTo) ?? `${base}/`}">${shown}</a>`;
}

function navigation({ place, path, canSubscribe }: Frame): Markup {
  const link = (to: string, words: string): Markup =>
    html`<a href="${place.base}${to}" ${path === to && new Markup('aria-current="page"')}
      >${words}</a
    >`;
  return html`<nav aria-label="Pages">
    ${link('/', 'Status')}${link('/history', 'History')}${
      canSubscribe === true && html`<a class="button" href="${place.base}/#subscribe">Subscribe</a>`
    }
  </nav>`;
}

function feeds({ base }: Place): Markup {
  return html`<link rel="alternate" type="application/rss+xml" href="${base}/feed.rss" /><link
      rel="alternate"
      type="application/atom+xml"
      href="${base}/feed.atom"
    /><link rel="alternate" type="application/feed+json" href="${base}/feed.json" />`;
}

/** A complete page as a response. */
export function document(frame: Frame): Representation {
  const { look, place, path, state = 'operational', description = '' } = frame;
  const css = paletteCss(look ?? { theme: 'AUTO', themeColors: null }, state) + styleSheet;
  const favicon = pictureAddress(look?.favicon ?? null) ?? tabIcon(state, stateColor(state));
  const isFound = frame.isPublic && path !== null && (frame.status ?? 200) === 200;
  const { text } = html`<!doctype html>
    <html lang="en">
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
                <meta property="og:url" content="${place.address}${path}" />
                <link rel="canonical" href="${place.address}${path}" />
                ${feeds(place)}`
            : html`<meta name="robots" content="noindex" />`
        }
        <link rel="icon" href="${favicon}" />
        <style>
          ${new Markup(css)}
        </style>
      </head>
      <body>
        <a class="skip" href="#main">Skip to content</a>
        ${
          look !== null &&
          html`<header class="top">
            <div class="wrap">${brand(look, place.base)}${navigation(frame)}</div>
          </header>`
        }
        <main id="main" class="wrap" tabindex="-1">${frame.main}</main>
        ${
          frame.footer !== undefined &&
          html`<footer><div class="wrap">${frame.footer}</div></footer>`
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
