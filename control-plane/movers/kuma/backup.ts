/** A JSON backup of Uptime Kuma 1, as the tables of its database. */
import type { SourceRow, SourceTables } from '../../db/read-sqlite-file.ts';
import { SourceError } from '../mover.ts';
import { isFields } from '@monitor/shared/fields.ts';
import { recordsIn, type Fields } from '../source-object.ts';

/** Names that do not follow from those of the columns. */
const columns: Readonly<Record<string, string>> = {
  accepted_statuscodes: 'accepted_statuscodes_json',
  maxretries: 'maxretries',
  isDefault: 'is_default',
};

/** What the backup derives from other fields. */
const derived = new Set([
  ...['path', 'pathName', 'childrenIDs', 'forceInactive', 'maintenance', 'screenshot'],
  ...['includeSensitiveData', 'notificationIDList', 'tags', 'humanReadableInterval'],
]);

function columnOf(name: string): string {
  return columns[name] ?? name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** Values of columns are texts and numbers. */
function cell(value: unknown): unknown {
  return typeof value === 'object' && value !== null ? JSON.stringify(value) : value;
}

const rowOf = (fields: Fields): SourceRow =>
  Object.fromEntries(
    Object.entries(fields).flatMap(([name, value]) =>
      derived.has(name) ? [] : [[columnOf(name), cell(value)]],
    ),
  );

/** Files that others than the product write may lack ids, by which everything is tied together. */
function recordsOf(backup: Fields, name: string): Fields[] {
  const list = backup[name] ?? [];
  if (!Array.isArray(list) || !list.every(isFields)) {
    throw new SourceError(`\`${name}\` of the backup is not a list of objects`);
  }
  const ids = new Set(list.map((record) => record['id']));
  if (ids.size === list.length && !ids.has(undefined)) return list;
  throw new SourceError(`\`${name}\` of the backup has entries without an \`id\` of their own`);
}

/** Ids in `{"3": true}`, or in a list. */
function notificationIds(value: unknown): number[] {
  if (Array.isArray(value)) return value.map(Number);
  const chosen = isFields(value) ? Object.keys(value).filter((id) => value[id] === true) : [];
  return chosen.map(Number);
}

export function isBackup(value: unknown): value is Fields {
  return isFields(value) && ('monitorList' in value || 'notificationList' in value);
}

export function tablesOfBackup(backup: Fields): SourceTables {
  const monitors = recordsOf(backup, 'monitorList');
  const tags = new Map<number, SourceRow>();
  const monitorTags: SourceRow[] = [];
  const monitorNotifications: SourceRow[] = [];
  for (const monitor of monitors) {
    const id = monitor['id'];
    for (const tag of recordsIn(monitor['tags'])) {
      const tagId = Number(tag['tag_id'] ?? tag['id']);
      tags.set(tagId, { id: tagId, name: tag['name'], color: tag['color'] });
      monitorTags.push({ monitor_id: id, tag_id: tagId, value: tag['value'] });
    }
    for (const notification of notificationIds(monitor['notificationIDList'])) {
      monitorNotifications.push({ monitor_id: id, notification_id: notification });
    }
  }
  return {
    // A monitor that its group switched off is active itself.
    monitor: monitors.map((monitor) => ({
      ...rowOf(monitor),
      ...(monitor['forceInactive'] === true ? { active: 1 } : {}),
    })),
    notification: recordsOf(backup, 'notificationList').map(rowOf),
    proxy: recordsOf(backup, 'proxyList').map(rowOf),
    tag: [...tags.values()],
    monitor_tag: monitorTags,
    monitor_notification: monitorNotifications,
  };
}
