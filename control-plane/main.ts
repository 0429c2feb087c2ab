import { makeFilesPrivate, refuseDebugger } from '@monitor/shared/private-files.ts';
import { runCommand } from './app/run-command.ts';

makeFilesPrivate();
refuseDebugger();

// What reads this output may stop before its end, as `head` does.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
});

await runCommand(process.argv.slice(2));
