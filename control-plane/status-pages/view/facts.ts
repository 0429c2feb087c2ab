/** The facts of a status page, read at one instant. Instants in milliseconds. */
import type { z } from 'zod';
import type { language, themeColors } from '@monitor/shared/contract/status-page.ts';
import type { TimelineUpdate } from '../../incidents/decide/incident.ts';
import type { Override, ServiceRule } from '../decide/follow-checks.ts';
import type { PlannedWindow } from '../../maintenance/decide/planned-maintenance.ts';

import type { ServiceState, Severity } from './states.ts';

export type { Severity } from './states.ts';

/** Creation and last change. */
interface Lived {
  createdAt: number;
  updatedAt: number | null;
}

export interface PageLook {
  id: string;
  name: string;
  url: string;
  customDomain: string | null;
  description: string | null;
  logo: string | null;
  logoDark: string | null;
  favicon: string | null;
  /** Link of the logo. */
  redirectTo: string | null;
  theme: 'LIGHT' | 'DARK' | 'AUTO';
  themeColors: z.output<typeof themeColors> | null;
  isPrivate: boolean;
  /** Of visitors who chose none, of feeds and mails. */
  language: z.infer<typeof language>;
  /** Further languages that visitors may choose. */
  languages: readonly z.infer<typeof language>[];
  /** Of its times and days. */
  timezone: string;
}

/** What the checks of a service say. */
export interface FollowedFacts {
  /** Null for a service whose state people alone override. */
  rule: ServiceRule | null;
  state: ServiceState;
  /** False where its checks say nothing about now. */
  isMeasured: boolean;
  override: Override | null;
  /** Availability in percent over all days, and by day; null without results. */
  uptime: number | null;
  days: readonly (number | null)[];
}

export interface ServiceFacts extends Lived {
  id: string;
  name: string;
}

export interface CardFacts extends Lived {
  id: string;
  name: string;
  services: readonly ServiceFacts[];
}

export interface UpdateFacts extends TimelineUpdate {
  id: string;
  description: string;
  createdAt: number;
}

export interface IncidentFacts extends Lived {
  id: string;
  name: string;
  severity: Severity;
  /** Affected services on the page, at least one. */
  serviceIds: readonly string[];
  /** In any order; readers leave out updates that are not public yet. */
  updates: readonly UpdateFacts[];
}

/** What a person wrote about an occurrence. */
export interface WindowUpdateFacts {
  scheduledAt: number;
  status: string;
  description: string;
  createdAt: number;
}

export interface WindowFacts {
  window: PlannedWindow;
  /** Services of the page that it affects: those that it names, or that its checks report to. */
  serviceIds: readonly string[];
  /** Newest first. */
  updates: readonly WindowUpdateFacts[];
}

export interface PageFacts {
  page: PageLook & Lived;
  cards: readonly CardFacts[];
  /** Open, or updated within the days of the uptime bars. */
  incidents: readonly IncidentFacts[];
  windows: readonly WindowFacts[];
  /** By service; absent where none has checks. */
  followed?: ReadonlyMap<string, FollowedFacts>;
}
