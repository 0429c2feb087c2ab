/** The credentials in the URL of a proxy, as written and decoded. */
export function proxyLogin(address: string | null): string[] {
  const [, user, password] = /^[a-z]+:\/\/([^/@]*?):([^/@]*)@/i.exec(address ?? '') ?? [];
  if (user === undefined || password === undefined || password === '') return [];
  return [...new Set([`${user}:${password}`, password, decoded(password)])];
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
