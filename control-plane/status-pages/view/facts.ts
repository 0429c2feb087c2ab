/** What a status page is made from, as it was read at one instant. Instants in milliseconds. */
import type { z } from 'zod';
import type { severity } from '@monitor/shared/contract/primitives.ts';
import type { themeColors } from '@monitor/shared/contract/status-page.ts';
import type { TimelineUpdate } from '../../incidents/decide/incident.ts';
import type { PlannedWindow } from '../../maintenance/decide/planned-maintenance.ts';

export type Severity = z.infer<typeof severity>;

/** When it was made and changed. */
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
  favicon: string | null;
  /** Where the logo leads. */
  redirectTo: string | null;
  theme: 'LIGHT' | 'DARK' | 'AUTO';
  themeColors: z.output<typeof themeColors> | null;
  isPrivate: boolean;
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
  /** Those that stand on the page, at least one. */
  serviceIds: readonly string[];
  /** In any order; those that are not public yet are left out by whoever looks at them. */
  updates: readonly UpdateFacts[];
}

export interface WindowFacts {
  window: PlannedWindow;
  /** Those of the page that a check in this window reports to. */
  serviceIds: readonly string[];
}

export interface PageFacts {
  page: PageLook & Lived;
  cards: readonly CardFacts[];
  /** Open, or with an update within the days of the bars. */
  incidents: readonly IncidentFacts[];
  windows: readonly WindowFacts[];
}
