/** Rolls up the results of a database file, so many batches at most, and waits to be killed. */
import { systemClock } from '@monitor/shared/clock.ts';
import { openDatabase } from '../../control-plane/db/open.ts';
import { RollUp } from '../../control-plane/analytics/roll-up.ts';

const db = openDatabase(process.argv[2] ?? '');
const rollUp = new RollUp({ db, clock: systemClock });
process.stdout.write('ready\n');
for (let left = Number(process.argv[3]); left > 0 && (await rollUp.run()); left -= 1) {
  process.stdout.write('batch\n');
}
setInterval(() => undefined, 1_000);
