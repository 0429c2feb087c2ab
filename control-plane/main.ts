import { Command } from 'commander';
import { registerKeys } from './commands/keys.ts';
import { registerServe } from './commands/serve.ts';

const program = new Command('control-plane')
  .description('The public API, the schedule and the memory of the monitoring system')
  .showHelpAfterError()
  .helpOption('-h, --help', 'show this help');
registerServe(program);
registerKeys(program);

try {
  await program.parseAsync();
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
