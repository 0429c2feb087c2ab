import assert from 'node:assert/strict';
import test from 'node:test';
import {
  keyedResultIdOfAttempt,
  keyedRunIdOfSlot,
  keyedText,
  resultIdOfAttempt,
  runIdOfSlot,
} from '@monitor/shared/domain/run-id.ts';
import { sha256Hex } from '../../../control-plane/core/keys.ts';

const slot = { checkId: 'check', location: 'office', scheduledFor: 1_764_000_000_000 };

// Agents and control planes of neighbouring versions must derive the same: these never change.
test('ids of protocol 1 are those that agents hold on their disks', () => {
  const runId = runIdOfSlot(slot, sha256Hex);
  assert.deepEqual(
    [runId, resultIdOfAttempt(runId, 1, sha256Hex)],
    ['6bc77480-d0fb-85cc-a3d5-2417bf355b5a', 'ed265ecb-48ab-88a4-9584-0d0199963889'],
  );
});

test('ids of protocol 2 are those that agents hold on their disks', () => {
  const keyed = (text: string): string => sha256Hex(keyedText('a key', text));
  const runId = keyedRunIdOfSlot(slot, keyed);
  assert.deepEqual(
    [runId, keyedResultIdOfAttempt(runId, 1, keyed)],
    ['019ab697-e800-88c3-8e03-d5d1b720d5fc', '019ab697-e800-8bdc-8ce8-a078f8bda961'],
  );
});
