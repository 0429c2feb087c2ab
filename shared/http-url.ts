/** URLs of checks. Beside those of the URL Standard an address may have a zone: `http://[fe80::1%25eth0]/`, RFC 6874. */

const zoned = /^(https?:\/\/(?:[^/?#@]*@)?\[[\da-f:.]+)%(?!25\])(?:25)?([\w.~-]+)(?=\])/i;

/** A URL without the zone, which is no part of what is sent or shown, and the zone beside it. */
export class HttpUrl extends URL {
  readonly zone: string | undefined;

  constructor(text: string) {
    super(text.replace(zoned, '$1'));
    this.zone = zoned.exec(text)?.[2];
  }

  static override canParse(text: string): boolean {
    return URL.canParse(text.replace(zoned, '$1'));
  }
}

/** Decodes percent escapes; an invalid text stays unchanged. */
export function decodedOrAsIs(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
