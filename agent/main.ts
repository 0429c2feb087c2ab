import { Command, CommanderError } from 'commander';
import { registerDoctor } from './commands/doctor.ts';
import { registerRun } from './commands/run.ts';
import { registerRuntime } from './commands/runtime.ts';
import { registerStart } from './commands/start.ts';
import { registerStatus } from './commands/status.ts';
import { registerSupportBundle } from './commands/support-bundle.ts';
import { registerTraceroute } from './commands/traceroute.ts';
import { registerVersion } from './commands/version.ts';
import { AgentError } from './errors.ts';
import { exitCodes } from './exit-codes.ts';
import { printableValue } from './printable.ts';

const program = new Command('monitor-agent')
  .description('Runs checks from inside your network and reports to the control plane')
  .helpOption('-h, --help', 'show this help')
  .showHelpAfterError('(add --help for the settings and examples)')
  .exitOverride();
registerStart(program);
registerRun(program);
registerRuntime(program);
registerDoctor(program);
registerStatus(program);
registerSupportBundle(program);
registerTraceroute(program);
registerVersion(program);

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
