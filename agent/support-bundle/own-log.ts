/** The agent's log without addresses of other hosts. */

/** Every URL that is not of one of these origins becomes `[url]`. */
export function withoutUrls(text: string, origins: readonly string[]): string {
  return text.replace(/\b[a-z][a-z0-9+.-]*:\/\/[^\s"'<>\\)]+/gi, (url) => {
    const isOwn = origins.some((origin) => url === origin || url.startsWith(`${origin}/`));
    return isOwn ? url : '[url]';
  });
}
