/** Rolls up the results of a database file until there are no more, or until it is killed. */
import { systemClock } from '@monitor/shared/clock.ts';
import { openDatabase } from '../../control-plane/db/open.ts';
import { RollUp } from '../../control-plane/operations/roll-up.ts';

const db = openDatabase(process.argv[2] ?? '');
const rollUp = new RollUp({ db, clock: systemClock });
process.stdout.write('ready\n');
while (await rollUp.run()) process.stdout.write('batch\n');
await db.destroy();
