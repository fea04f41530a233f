// The sections of the page of a run, in the order in which a reader needs them.
import type { Page } from '../data/types';
import { buildHeat } from '../heat/section';
import { buildInstances } from './instances';
import { buildPace } from './pace';
import { buildParts } from './parts';
import { buildQuality } from './quality';
import type { Section } from './section';
import { buildCollectives, buildFindings, buildKernels } from './tables';
import { buildTails } from './tails';

export function reportSections(page: Page): Section[] {
  return [
    { id: 'who-is-late', title: 'Who is late, and when', build: () => buildHeat(page) },
    { id: 'where-time-goes', title: 'Where the time goes', build: () => buildParts(page) },
    { id: 'single-collectives', title: 'Single collectives', build: () => buildInstances(page) },
    { id: 'tails', title: 'Tails', build: () => buildTails(page) },
    { id: 'utilisation', title: 'Utilisation over time', build: () => buildPace(page) },
    { id: 'kernels', title: 'Kernels', build: () => buildKernels(page) },
    { id: 'collectives', title: 'Collectives', build: () => buildCollectives(page) },
    { id: 'findings', title: 'Findings', build: () => buildFindings(page) },
    { id: 'quality', title: 'Quality and clocks', build: () => buildQuality(page) }
  ];
}
