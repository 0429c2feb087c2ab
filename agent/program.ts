import { Command } from 'commander';

/** The program without its commands. */
export function newProgram(): Command {
  return (
    new Command('monitor-agent')
      .description('Runs checks from inside your network and reports to the control plane')
      .helpOption('-h, --help', 'show this help')
      .option('-V, --version', 'the same as the command `version`')
      // Behind a command it is none of its options, and no order to print the version either.
      .enablePositionalOptions()
      .showHelpAfterError('(add --help for the settings and examples)')
      .exitOverride()
  );
}

/** How each command is loaded, by its name. */
export const commands: Readonly<Record<string, () => Promise<(program: Command) => void>>> = {
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
