const maxLength = 2_000;

/** The URL in one spelling; null for one that no request may be sent to. */
export function webhookAddress(given: string): string | null {
  const text = given.trim();
  if (text.length > maxLength || !URL.canParse(text)) return null;
  const url = new URL(text);
  if (url.protocol !== 'https:' || url.username !== '' || url.password !== '') return null;
  url.hash = '';
  return url.href.length > maxLength ? null : url.href;
}

/** What people see of a URL whose path may be a credential. */
export function shownAddress(address: string): string {
  return `${new URL(address).origin}/…`;
}
