import { clampInstants, type GapConsumer } from '../reception/index.ts';

/** After a step of the clock the days of all certificates are counted anew. */
export const moveCertificateDays: GapConsumer = async (db, gap) => {
  await clampInstants(db, gap, 'check_certificates', ['measured_at']);
  if (gap.stepMs === 0) return;
  await db.updateTable('check_certificates').set({ due_at: gap.to }).execute();
};
