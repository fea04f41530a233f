// Round moments on an axis whose columns are stretches of time. Pure.
import { linearTicks, time } from '../base/units';
import type { View } from './grid';

// A place on the axis of columns, in columns, and its label.
export interface Tick {
  column: number;
  text: string;
}

// About `most` ticks. Column c begins at start + c * each, in ns since the run's start.
export function timeTicks(start: number, each: number, view: View, most: number): Tick[] {
  const moment = (column: number): number => start + column * each;
  return linearTicks(moment(view.column), moment(view.column + view.columns), most).map((ns) => ({
    column: (ns - start) / each,
    text: ns === 0 ? '0' : time(ns)
  }));
}
