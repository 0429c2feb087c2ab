/** Names of variables that are none of the settings of a program. */
import { nearestWord } from './nearest-word.ts';

/** Shorter names resemble too many variables of other programs. */
const minLength = 7;

/** The setting that was probably meant; null for a name that resembles none. */
export function meantSetting(
  given: string,
  names: readonly string[],
  aliases: Readonly<Record<string, string>> = {},
): string | null {
  const upper = given.toUpperCase().replaceAll('-', '_');
  if (upper !== given && names.includes(upper)) return upper;
  const longNames = names.filter(({ length }) => length >= minLength);
  return aliases[upper] ?? nearestWord(upper, longNames);
}
