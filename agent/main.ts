import { Command, CommanderError } from 'commander';
import { namedCommands } from '@monitor/shared/named-commands.ts';
import { AgentError } from './errors.ts';
import { exitCodes } from './exit-codes.ts';
import { printableValue } from './printable.ts';

const program = new Command('monitor-agent')
  .description('Runs checks from inside your network and reports to the control plane')
  .helpOption('-h, --help', 'show this help')
  .showHelpAfterError('(add --help for the settings and examples)')
  .exitOverride();

const commands: Readonly<Record<string, () => Promise<(program: Command) => void>>> = {
  start: async () => (await import('./commands/start.ts')).registerStart,
  run: async () => (await import('./commands/run.ts')).registerRun,
  runtime: async () => (await import('./commands/runtime.ts')).registerRuntime,
  doctor: async () => (await import('./commands/doctor.ts')).registerDoctor,
  status: async () => (await import('./commands/status.ts')).registerStatus,
  'support-bundle': async () =>
    (await import('./commands/support-bundle.ts')).registerSupportBundle,
  traceroute: async () => (await import('./commands/traceroute.ts')).registerTraceroute,
  version: async () => (await import('./commands/version.ts')).registerVersion,
};
for (const load of namedCommands(commands, process.argv[2])) (await load())(program);

try {
  await program.parseAsync();
} catch (error) {
  if (error instanceof CommanderError) {
    process.exitCode = error.exitCode === 0 ? exitCodes.ok : exitCodes.error;
  } else {
    const isKnown = error instanceof AgentError;
    const message = error instanceof Error ? error.message : String(error);
    process.stderr.write(
      `${isKnown ? '' : 'unexpected: '}${printableValue(message, { hasLines: true })}\n`,
    );
    process.exitCode = exitCodes.error;
  }
}
