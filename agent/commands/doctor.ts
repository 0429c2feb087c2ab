import type { Command } from 'commander';
import { systemClock } from '@monitor/shared/clock.ts';
import { wrapped } from '@monitor/shared/wrapped-text.ts';
import { processEnvironment } from '../guard-process.ts';
import { counted } from '../doctor/units.ts';
import type { StepFinding, Report } from '../doctor/finding.ts';
import { exitCodes } from '../exit-codes.ts';
import { relaunch } from '../relaunch.ts';
import { printableValue } from '../printable.ts';
import { colorsFor, isLively, watchUntilWell, type Colors } from './output.ts';

const examples = `
Examples:
  monitor-agent doctor                       with the settings of the agent
  monitor-agent doctor --only dns,proxy,tls  these, and what they need
  docker exec agent monitor-agent doctor     beside a running agent, undisturbed

The first failure is the cause; what follows from it is not tested.
agent/doctor/README.md explains every line.

Exit codes: 0 nothing failed (warnings allowed), 1 something failed,
2 settings unusable, 75 this machine was too busy to tell: try again.
`;

interface DoctorOptions {
  json?: boolean;
  only?: string[];
  skip?: string[];
  offline?: boolean;
  quick?: boolean;
  watch?: boolean;
}

const watchEveryMs = 5_000;
const labelWidth = 17;
const markWidth = 8;
const indent = ' '.repeat(markWidth + labelWidth);

function lines(
  { id, verdict, evidence, fix, tried }: StepFinding,
  colors: Colors,
  width: number,
): string {
  const mark = {
    ok: colors.green('ok'),
    warn: colors.yellow('warn'),
    fail: colors.red('fail'),
    skip: colors.dim('skip'),
    unknown: colors.yellow('unknown'),
  }[verdict];
  const room = width - indent.length;
  const facts = tried === undefined ? evidence : `${evidence} (tried: ${tried})`;
  const text = wrapped(facts, room).join(`\n${indent}`);
  const first = `${mark}${' '.repeat(markWidth - verdict.length)}${id.padEnd(labelWidth)}`;
  const shown = verdict === 'skip' ? colors.dim(text) : text;
  if (fix === null) return `${first}${shown}`;
  const [head = '', ...rest] = wrapped(fix, room - 3);
  const advice = [head, ...rest.map((line) => `   ${line}`)].join(`\n${indent}`);
  return `${first}${shown}\n${indent}${colors.cyan('->')} ${advice}`;
}

/** The first failure, or what could not be decided. */
function firstProblem(findings: readonly StepFinding[]): StepFinding | undefined {
  const first = (wanted: StepFinding['verdict']) =>
    findings.find(({ verdict }) => verdict === wanted);
  return first('fail') ?? first('unknown');
}

function summary({ findings, durationMs }: Report): string {
  const count = (wanted: StepFinding['verdict']) =>
    findings.filter(({ verdict }) => verdict === wanted).length;
  const first = firstProblem(findings);
  const undecided = count('unknown') === 0 ? '' : `${count('unknown')} not decided, `;
  const totals = `${count('ok')} ok, ${counted(count('warn'), 'warning')}, ${count('fail')} failed, ${undecided}${count('skip')} not tested, in ${(durationMs / 1_000).toFixed(1)} s`;
  return first === undefined ? totals : `${totals}; begin with "${first.id}"`;
}

/** An option that is given several times adds to what was given before. */
function addIds(text: string, before: readonly string[] = []): string[] {
  return [...before, ...text.split(',').map((id) => id.trim())];
}

/** `monitor-agent doctor`: each thing an agent needs, with evidence and the fix. */
export function registerDoctor(program: Command): void {
  program
    .command('doctor')
    .description('diagnose why an agent does not work here')
    .option('--json', 'print JSON')
    .option('--only <ids>', 'only these steps, and what they need; separated by commas', addIds)
    .option('--skip <ids>', 'without these steps', addIds)
    .option('--offline', 'nothing that needs the network')
    .option('--quick', 'without browsers, code and longer measurements')
    .option('--watch', 'look until nothing fails, and print a line for each change')
    .addHelpText('after', examples)
    .action(async (options: DoctorOptions) => {
      relaunch(processEnvironment);
      // A file that only an agent loads may be damaged as well.
      await Promise.all([import('./serve-location.ts'), import('../scripting.ts')]);
      // Only now: what was loaded before is loaded once more.
      const { collectFindings } = await import('../doctor/collect-findings.ts');
      const choice = {
        only: options.only,
        skip: options.skip ?? [],
        isOffline: options.offline === true,
        isQuick: options.quick === true,
      };
      if (options.watch === true) {
        await watchUntilWell(async () => {
          const parts = { environment: processEnvironment, clock: systemClock, choice };
          const { report } = await collectFindings(parts);
          const first = firstProblem(report.findings);
          // Amounts, such as times, would make each look a change.
          const said = first?.evidence.replace(
            /\d+(\.\d+)? (ms|s|seconds?|minutes?|hours?)\b/g,
            '…',
          );
          return first === undefined ? null : `${first.id}: ${said}`;
        }, watchEveryMs);
        process.exit();
      }
      const colors = colorsFor(process.stdout);
      const isPlain = options.json === true;
      const isLive = isLively(process.stdout) && !isPlain;
      const clear = isLive ? '\r\u001b[K' : '';
      const { report, isUsable } = await collectFindings({
        environment: processEnvironment,
        clock: systemClock,
        choice,
        onWaiting: ({ id }) => {
          if (isLive) process.stdout.write(`${clear}${colors.dim(`...   ${id}`)}`);
        },
        onFinding: (finding) => {
          const width = isLive ? process.stdout.columns : Number.POSITIVE_INFINITY;
          if (!isPlain)
            process.stdout.write(`${clear}${lines(printableValue(finding), colors, width)}\n`);
        },
      });
      if (isPlain) console.log(JSON.stringify(report, null, 2));
      else console.log(`${clear}\n${summary(report)}`);
      const worst = firstProblem(report.findings)?.verdict;
      if (!isUsable) process.exitCode = exitCodes.error;
      else if (report.ok) process.exitCode = exitCodes.ok;
      else process.exitCode = worst === 'fail' ? exitCodes.failed : exitCodes.undecided;
      // A connection that is still being made would keep the process for longer than a person waits.
      process.stdout.write('', () => process.exit());
    });
}
