/** Variables that are none of the settings, and the setting that was probably meant. */
import { meantSetting } from '@monitor/shared/meant-setting.ts';

/** Variables of other programs that look like settings of the agent. */
const foreign = /^(NODE_|OTEL_|npm_|FTP_PROXY$|LOG_FILE$|AGENT_RELAUNCHED$)/i;
const lowerCased = /^(HTTPS?|ALL|NO)_PROXY$/;
/** Common other names of these settings. */
const aliases: Readonly<Record<string, string>> = {
  APIKEY: 'API_KEY',
  AGENT_KEY: 'API_KEY',
  AGENT_API_KEY: 'API_KEY',
  MONITOR_API_KEY: 'API_KEY',
  LOCATION_KEY: 'API_KEY',
  CONTROL_PLANE: 'CONTROL_PLANE_URL',
  CONTROLPLANE_URL: 'CONTROL_PLANE_URL',
  SERVER_URL: 'CONTROL_PLANE_URL',
  DATA_DIR: 'AGENT_DATA_DIR',
  HEALTH_PORT: 'AGENT_HEALTH_PORT',
  EXTRA_CA_CERTS: 'NODE_EXTRA_CA_CERTS',
};

/** A warning for each. Those that begin with AGENT_ are meant for this program, whatever they are. */
export function misspeltSettings(
  environment: Readonly<Record<string, string | undefined>>,
  known: readonly { name: string; isSecret: boolean }[],
): string[] {
  const names = known.flatMap(({ name, isSecret }) => [
    name,
    ...(isSecret ? [`${name}_FILE`] : []),
  ]);
  return Object.keys(environment).flatMap((given) => {
    const upper = given.toUpperCase().replaceAll('-', '_');
    if (names.includes(given) || lowerCased.test(upper) || foreign.test(given)) return [];
    const meant = meantSetting(given, names, aliases);
    const isOurs = given.startsWith('AGENT_');
    if (!isOurs && (meant === null || environment[meant])) return [];
    const hint = meant === null ? '' : `; did you mean ${meant}?`;
    return [`${given} is not a setting of this agent and has no effect${hint}`];
  });
}

/** Entries of NO_PROXY in forms of other programs, which no host matches: `127.*`, `https://host`, `a;b`. */
export function entriesOfNoHost(noProxy: string): string[] {
  return noProxy.split(/[\s,]+/).filter((entry) => /:\/\/|;|[^*.].*\*|^\*[^.]/.test(entry));
}
