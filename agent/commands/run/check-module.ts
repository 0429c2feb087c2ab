/** Checks that a module exports, as `*.check.ts`. It is code of others: a process of its own runs it. */
import { isFields } from '@monitor/shared/fields.ts';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { pathToFileURL } from 'node:url';
import { AgentError } from '../../errors.ts';
import { codeFrame, placeOf, type ScriptSource } from './script-error.ts';

/** What it exports arrives as JSON; what it prints goes to the error output. */
const program = `
const [url] = process.argv.slice(1);
const send = (message) => process.send(message, () => process.exit(0));
import(url).then(
  (module) => {
    // In a folder without "type": "module" it has become CommonJS, which has its exports in one.
    const whole = module.default?.__esModule === true ? module.default : module;
    const names = Object.keys(whole).filter((name) => name !== 'module.exports' && name !== '__esModule');
    send({ exports: names.map((name) => [name, whole[name]]) });
  },
  (error) => send({ error: { message: String(error?.message ?? error), stack: error?.stack ?? null } }),
);
`;
const maxMs = 60_000;

interface Answer {
  exports?: [name: string, value: unknown][];
  error?: { message: string; stack: string | null };
}

export interface ExportedCheck {
  name: string;
  fields: Record<string, unknown>;
}

/** What reads all of TypeScript, where it is installed beside the agent; Node itself only leaves types out. */
function typescriptLoader(): string[] {
  try {
    return ['--import', import.meta.resolve('tsx')];
  } catch {
    return [];
  }
}

/** Throws CONFIG_INVALID where the module fails, exports no checks, or something else than checks. */
export async function checksOfModule(
  source: ScriptSource & { path: string },
): Promise<ExportedCheck[]> {
  const { path: file } = source;
  const loader = typescriptLoader();
  const child = spawn(
    process.execPath,
    [
      ...['--no-warnings', ...loader],
      ...['--input-type=module', '--eval', program, pathToFileURL(file).href],
    ],
    { stdio: ['ignore', 'pipe', 'inherit', 'ipc'], timeout: maxMs, killSignal: 'SIGKILL' },
  );
  child.stdout?.pipe(process.stderr, { end: false });
  let answer: Answer = {};
  child.on('message', (message) => (answer = message as Answer));
  const [code, signal] = (await once(child, 'close')) as [number | null, string | null];
  const refuse = (problem: string): AgentError =>
    new AgentError('CONFIG_INVALID', `"${file}" cannot be run: ${problem}`);
  if (answer.error !== undefined) {
    const { message, stack } = answer.error;
    // Paths in the place of addresses, as the frames of scripts have them.
    const place = placeOf({ message, stack: stack?.replaceAll('file://', '') ?? null }, [source]);
    const lines =
      place === null
        ? ''
        : `, line ${place.line}, column ${place.column}\n${codeFrame(source.text, place.line, place.column)}`;
    const hint =
      loader.length === 0 && /\.[cm]?tsx?$/.test(file)
        ? '\nNode itself reads a part of TypeScript; with the package tsx beside the agent, all of it is read.'
        : '';
    throw refuse(`it failed while it was loaded: ${message}${lines}${hint}`);
  }
  if (answer.exports === undefined) {
    const how =
      signal === null ? `with exit code ${code}` : `by ${signal}, after ${maxMs / 1_000} s at most`;
    throw refuse(`it ended ${how} before it had exported its checks`);
  }
  const found = answer.exports.flatMap(([name, value]): ExportedCheck[] => {
    const several = Array.isArray(value);
    return (several ? (value as unknown[]) : [value]).map((each, index) => {
      const place = several ? `${name}[${index}]` : name;
      if (isFields(each)) return { name: place, fields: each };
      throw refuse(`its export "${place}" is no check; export objects with "checkType"`);
    });
  });
  if (found.length === 0)
    throw refuse('it exports no checks; add: export default { checkType: … }');
  return found;
}
