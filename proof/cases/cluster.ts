import type { ProofCase } from '../case.ts';
export const cluster: ProofCase = { name: 'cluster', plays: '', missing: () => 'x', join: () => Promise.reject(new Error('')) };
