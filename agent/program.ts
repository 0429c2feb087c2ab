import { Command } from 'commander';
import type { FirstWord } from '@monitor/shared/doors.ts';
import { completionCommand } from '@monitor/shared/completion-command.ts';
import type { NamedCommand } from '@monitor/shared/named-commands.ts';
import type { commandDoors } from './doors.ts';

/** The program without its commands. */
export function newProgram(): Command {
  return (
    new Command('monitor-agent')
      .description('Runs checks from inside your network and reports to the control plane')
      .helpOption('-h, --help', 'show this help')
      .option('-V, --version', 'the same as the command `version`')
      // After a subcommand, `--version` is not an option of the program.
      .enablePositionalOptions()
      .showHelpAfterError('(add --help for the settings and examples)')
      .exitOverride()
  );
}

/** The commands by name. What the overview says of each is said once more here, so that help loads none. */
export const commands: Readonly<
  Record<FirstWord<keyof typeof commandDoors>, NamedCommand<Command>>
> = {
  start: {
    summary: 'serve a location: run its checks and report their results',
    load: async () => (await import('./commands/start.ts')).registerStart,
  },
  run: {
    takes: '<check...>',
    summary: 'run checks without a control plane and print the results',
    load: async () => (await import('./commands/run.ts')).registerRun,
  },
  runtime: {
    hasOptions: false,
    summary: 'manage the npm packages that scripts can import',
    load: async () => (await import('./commands/runtime.ts')).registerRuntime,
  },
  doctor: {
    summary: 'diagnose why an agent does not work here',
    load: async () => (await import('./commands/doctor.ts')).registerDoctor,
  },
  status: {
    summary: 'show the status of the local agent',
    load: async () => (await import('./commands/status.ts')).registerStatus,
  },
  'support-bundle': {
    summary: 'collect diagnostics into one file',
    load: async () => (await import('./commands/support-bundle.ts')).registerSupportBundle,
  },
  'encryption-key': {
    summary: 'generate a key pair for encrypted results',
    load: async () => (await import('./commands/encryption-key.ts')).registerEncryptionKey,
  },
  decrypt: {
    takes: '[file]',
    summary: 'decrypt results, and files of results, with your private key',
    load: async () => (await import('./commands/decrypt.ts')).registerDecrypt,
  },
  traceroute: {
    takes: '<target>',
    summary: 'trace the route to a target, with loss and times per hop',
    load: async () => (await import('./commands/traceroute.ts')).registerTraceroute,
  },
  completion: completionCommand,
  proof: {
    summary: 'run the fault-injection proof',
    load: async () => (await import('./commands/proof.ts')).registerProof,
  },
  version: {
    summary: 'print the version of the agent',
    load: async () => (await import('./commands/version.ts')).registerVersion,
  },
};
