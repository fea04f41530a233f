// Some definitions, worded as docs/reference.md words them. The C++ side puts all of them into a page.
export const definitions = {
  'summary.culprits[].caused_wait_total_ns': 'Sum of the waits that it causes.',
  'summary.culprits[].confidence': 'How certain it is.',
  'summary.culprits[].saving_ratio':
    'Share of a step that a replay saves with this culprit as fast as its peers. Null where no replay tells it.',
  'summary.step_ns': 'Step time of the job.',
  'profile.kernels[].total_ns': 'Sum of their durations.',
  'profile.kernels[].name': 'Demangled name.',
  'profile.kernels[].duration_ns.p99': '99 % of the values are no larger. Null below 100 values.',
  'collectives[].wait_total_ns': 'Sum of these waits. Null without a usable instance.',
  'metrics[].change_ratio': 'change / base. Null where base is zero or not known.',
  'headline.verdict': 'slower or faster: the interval excludes no change.'
};
