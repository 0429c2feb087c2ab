import { watchOutput } from '@monitor/shared/command-output.ts';
import { makeFilesPrivate, refuseDebugger } from '@monitor/shared/private-files.ts';
import { runCommand } from './app/run-command.ts';
import { exitCodes } from './errors/exit-codes.ts';

makeFilesPrivate();
refuseDebugger();

watchOutput(exitCodes.failed);

await runCommand(process.argv.slice(2));
