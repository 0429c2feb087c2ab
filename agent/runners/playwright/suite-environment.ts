/** What the programs of a suite find in their environment. Nothing of the agent's own is in it. */
import { beginTrace } from '../../net/http/trace-context.ts';
import { runVariables } from '../../script-host/run-variables.ts';
import type { RunnerContext } from '../runner.ts';

/** Started by a person or a pipeline: what makes `CI` true. Schedules and retries are not in it. */
const sessionSources: ReadonlySet<string> = new Set([
  ...['CLI_DEPLOY', 'DEPLOYMENT', 'TEST_NO_RECORD', 'TEST_RECORD', 'TRIGGER_NO_RECORD'],
  ...['TRIGGER_RECORD', 'TRIGGER_API'],
]);

/** The facts of the run, the variables of the check, and the marks of a run of the service. */
export function suiteVariables(
  context: Pick<RunnerContext, 'run' | 'environment'>,
): Record<string, string> {
  const { run, environment } = context;
  const source = run.source ?? 'SCHEDULER';
  return {
    ...runVariables(run, null, beginTrace(run)),
    ...Object.fromEntries(environment.map(({ key, value }) => [key, value])),
    MONITOR: '1',
    MONITOR_RUN_SOURCE: source,
    CHECKLY: '1', // compatibility: configurations of existing customers ask for it
    CHECKLY_RUN_SOURCE: source, // compatibility: as above
    CHECKLY_CHECK_ID: run.checkId, // compatibility: as above
    CHECKLY_REGION: run.location, // compatibility: as above
    ...(sessionSources.has(source) ? { CI: 'true' } : {}),
  };
}

/** Proxy settings under every name that installers look for. */
function proxyVariables(proxy: Readonly<Record<string, string>>): Record<string, string> {
  const of = (name: string): string | undefined => proxy[name] ?? proxy[name.toLowerCase()];
  const [http, https, none] = [of('HTTP_PROXY'), of('HTTPS_PROXY'), of('NO_PROXY')];
  const named = {
    HTTP_PROXY: http,
    http_proxy: http,
    npm_config_proxy: http,
    YARN_HTTP_PROXY: http,
    HTTPS_PROXY: https,
    https_proxy: https,
    npm_config_https_proxy: https,
    YARN_HTTPS_PROXY: https,
    NO_PROXY: none,
    no_proxy: none,
    npm_config_noproxy: none,
  };
  const given = Object.entries(named).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value]],
  );
  return { ...proxy, ...(Object.fromEntries(given) as Record<string, string>) };
}

/** What an installation has besides: a way out, and the wish for quiet. The check's own settings win. */
export function installVariables(
  proxy: Readonly<Record<string, string>>,
  variables: Readonly<Record<string, string>>,
): Record<string, string> {
  return {
    ...proxyVariables(proxy),
    PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD: '1',
    npm_config_audit: 'false',
    npm_config_fund: 'false',
    npm_config_update_notifier: 'false',
    // It gives up, and says why, before the time of the installation is over.
    npm_config_fetch_timeout: '60000',
    COREPACK_ENABLE_DOWNLOAD_PROMPT: '0',
    ...variables,
  };
}
