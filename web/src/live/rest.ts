// How long a page rests before it asks for the next picture.

const kLeastPeriodMs = 1000; // from one question to the next: the server tells of no more changes in a second
const kDrawingOneIn = 4; // drawing takes at most so much of a page's time
const kRestOfAnswer = 0.25; // of what an answer took: the server has other things to do

export interface Drawn {
  askedMs: number;
  answeredMs: number;
  drawnMs: number; // now
}

export function restMs({ askedMs, answeredMs, drawnMs }: Drawn): number {
  const leastPeriod = Math.max(kLeastPeriodMs, kDrawingOneIn * (drawnMs - answeredMs));
  return Math.max(leastPeriod - (drawnMs - askedMs), kRestOfAnswer * (answeredMs - askedMs));
}
