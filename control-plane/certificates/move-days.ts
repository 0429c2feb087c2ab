import { clampInstants, type GapConsumer } from '../reception/index.ts';

/** Counts the remaining days of all certificates again after a step of the clock. */
export const moveCertificateDays: GapConsumer = async (db, gap) => {
  await clampInstants(db, gap, 'check_certificates', ['measured_at']);
  if (gap.stepMs === 0) return;
  await db.updateTable('check_certificates').set({ due_at: gap.to }).execute();
};
