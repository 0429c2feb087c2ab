/** What a document depends on besides its page: its addresses, its language, and what the visitor chose. */
import type { Language, Locale } from '../languages/locale.ts';

export interface Place {
  /** Prefix of all paths of the page; empty on a custom domain. */
  base: string;
  /** Public URL of the page. */
  address: string;
  locale: Locale;
  /** Languages that visitors may choose. */
  languages: readonly Language[];
  /** The choices of the visitor, which all links repeat: no cookie keeps them. */
  chosen: Readonly<Record<string, string>>;
}

/** A path with a query. */
export function withQuery(path: string, query: Readonly<Record<string, string>>): string {
  const text = new URLSearchParams(query).toString();
  return text === '' ? path : `${path}?${text}`;
}

/** The anchor of a service: stable, and short, since every service has one. */
export function anchorOf(service: { id: string }): string {
  return `s-${service.id.slice(-12)}`;
}

/** A link to a path below the base. */
export function linkTo(
  { base, chosen }: Place,
  path: string,
  query: Readonly<Record<string, string>> = {},
): string {
  return withQuery(base + path, { ...query, ...chosen });
}
