// The sections of the page of a run, in the order in which a reader needs them.
import type { LaterParts } from '../data/later_parts';
import type { Page } from '../data/types';
import { buildHeat } from '../heat/section';
import { buildInstances } from './instances';
import { buildPace } from './pace';
import { buildParts } from './parts';
import { buildQuality } from './quality';
import type { Section } from './section';
import { buildCollectives, buildFindings, buildKernels } from './tables';
import { buildTails } from './tails';

// `parts`: those of the page's data that are not there yet.
export function reportSections(page: Page, parts: LaterParts): Section[] {
  return [
    { id: 'who-is-late', title: 'Who is late, and when', build: () => buildHeat(page, parts) },
    {
      id: 'where-time-goes',
      title: 'Where the time goes',
      needs: ['report.profile', 'report.overlap'],
      build: () => buildParts(page)
    },
    {
      id: 'single-collectives',
      title: 'Single collectives',
      needs: ['report.pictures.instances', 'report.collectives'],
      build: () => buildInstances(page)
    },
    {
      id: 'tails',
      title: 'Tails',
      needs: ['report.tails', 'report.pictures.tails', 'report.profile'],
      build: () => buildTails(page)
    },
    { id: 'utilisation', title: 'Utilisation over time', needs: ['report.pictures.pace'], build: () => buildPace(page) },
    { id: 'kernels', title: 'Kernels', needs: ['report.profile', 'report.families'], build: () => buildKernels(page) },
    { id: 'collectives', title: 'Collectives', needs: ['report.collectives'], build: () => buildCollectives(page) },
    { id: 'findings', title: 'Findings', build: () => buildFindings(page) },
    {
      id: 'quality',
      title: 'Quality and clocks',
      needs: ['report.quality', 'report.clock.hosts', 'report.ranks'],
      build: () => buildQuality(page)
    }
  ];
}
