/** Readable colours: contrast as in WCAG 2, and corrections. */

/** Red, green and blue, 0 to 255. */
export type Color = readonly [number, number, number];

/** `#0A66C2` or `#06C`. */
export function parseColor(text: string): Color {
  const digits = text.slice(1);
  const wide = digits.length === 3 ? [...digits].map((digit) => digit + digit).join('') : digits;
  const at = (index: number): number => Number.parseInt(wide.slice(index, index + 2), 16);
  return [at(0), at(2), at(4)];
}

export function formatColor(color: Color): string {
  return `#${color.map((part) => Math.round(part).toString(16).padStart(2, '0')).join('')}`;
}

function luminance(color: Color): number {
  const [red, green, blue] = color.map((part) => {
    const share = part / 255;
    return share <= 0.040_45 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  }) as [number, number, number];
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

/** From 1 to 21. */
export function contrast(left: Color, right: Color): number {
  const [a, b] = [luminance(left), luminance(right)];
  return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
}

/** Mixes two colours with `share` of the first, in whole steps. */
export function mix(one: Color, other: Color, share: number): Color {
  return one.map((part, index) =>
    Math.round(part * share + (other[index] ?? 0) * (1 - share)),
  ) as unknown as Color;
}

const black: Color = [0, 0, 0];
const white: Color = [255, 255, 255];
const steps = 32;

/** WCAG AA for text, and for graphics. */
export const textContrast = 4.5;
export const shapeContrast = 3;

/**
 * The colour, or the nearest one towards black or white with enough contrast to its background. It
 * always exists, because black or white reach 4.58.
 */
export function readable(color: Color, behind: Color, needed: number): Color {
  const reaches = (candidate: Color): boolean => contrast(candidate, behind) >= needed;
  if (reaches(color)) return color;
  for (let step = 1; step <= steps; step += 1) {
    // The end that is farther from the background is reached sooner.
    const ends = luminance(behind) > 0.179 ? [black, white] : [white, black];
    for (const end of ends) {
      const candidate = mix(end, color, step / steps);
      if (reaches(candidate)) return candidate;
    }
  }
  return luminance(behind) > 0.179 ? black : white;
}
