/** The settings as they may be shown. */
import { describeSettings, type AgentConfig } from '../config.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** An address without a login, and without what follows `?`. */
function withoutQuery(text: string): string {
  if (!/^https?:\/\//i.test(text) || !URL.canParse(text)) return text;
  const url = new URL(text);
  return `${url.origin}${url.pathname}`;
}

/** Each setting: whether it was given, and its value unless that is a secret. */
export function shownSettings(
  config: AgentConfig | null,
  environment: Environment,
): Record<string, { given: boolean; value: unknown }> {
  const values: Readonly<Record<string, unknown>> = config ?? {};
  return Object.fromEntries(
    describeSettings().map(({ name, isSecret }) => {
      const lower = environment[name.toLowerCase()];
      const file = environment[`${name}_FILE`];
      const given = Boolean(environment[name] ?? lower ?? file);
      const value = values[name];
      if (isSecret) return [name, { given, value: file ? `from the file ${file}` : '[secret]' }];
      return [
        name,
        { given, value: typeof value === 'string' ? withoutQuery(value) : (value ?? null) },
      ];
    }),
  );
}
