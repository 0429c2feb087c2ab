/** HTML templates that escape every value except `Markup`. */

const escapes: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

export function escapeText(text: string): string {
  return text.replace(/[&<>"']/g, (character) => escapes[character] ?? '');
}

/** Trusted, well-formed markup. */
export class Markup {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

type Value = string | number | Markup | readonly Value[] | null | false;

function write(value: Value): string {
  if (value instanceof Markup) return value.text;
  if (typeof value === 'string') return escapeText(value);
  if (typeof value === 'number') return String(value);
  if (value === null || value === false) return '';
  return value.map(write).join('');
}

const tightened = new WeakMap<TemplateStringsArray, readonly string[]>();

/** Removes the indentation of the source. */
function tighten(strings: TemplateStringsArray): readonly string[] {
  const known = tightened.get(strings);
  if (known !== undefined) return known;
  const tight = strings.map((part) =>
    part
      .replace(/>\s*\n\s*</g, '><')
      .replace(/\s*\n\s*/g, '\n')
      .replace(/\s+(\/?>)/g, '$1'),
  );
  tightened.set(strings, tight);
  return tight;
}

/** Escapes values for text and quoted attributes; null and false give nothing. */
export function html(strings: TemplateStringsArray, ...values: readonly Value[]): Markup {
  const parts = tighten(strings);
  let text = parts[0] ?? '';
  for (const [index, value] of values.entries()) text += write(value) + (parts[index + 1] ?? '');
  return new Markup(text);
}

/** An absolute http(s) URL, or null: other schemes could run scripts. */
export function webAddress(text: string | null): string | null {
  if (text === null || !URL.canParse(text)) return null;
  const { protocol, href } = new URL(text);
  return protocol === 'https:' || protocol === 'http:' ? href : null;
}

/** A picture URL that the policy of the page allows, or null. */
export function pictureAddress(text: string | null): string | null {
  if (text === null) return null;
  if (
    /^data:image\/(png|jpeg|gif|webp|avif|svg\+xml|x-icon|vnd\.microsoft\.icon)[;,]/i.test(text)
  ) {
    return text;
  }
  const address = webAddress(text);
  return address?.startsWith('https:') === true ? address : null;
}
