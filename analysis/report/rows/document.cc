#include "analysis/report/rows/document.h"

namespace lockstep::report {

const Record& Document::Fields() {
  using R = Document;
  static const Record record{
      "",
      "The answer of lockstep. Units are in the names; null is absent knowledge; times of events are ns since the "
      "run's "
      "start. Only the views asked for are present. Further fields may be added at any time.",
      {
          F<&R::schema>("schema", "Name and version of the format.").OneOf({kReportSchema}),
          F<&R::notices>("notices", "What restricts the answer, by view."),
          F<&R::run>("run", "The run that was analysed."),
          F<&R::summary>("summary",
                         "Which rank makes the others wait, how much, how sure that is, and where the time goes.")
              .LeftOutIfNull(),
          F<&R::ranks>("ranks", "The ranks, and where each comes from.").LeftOutIfNull(),
          F<&R::quality>("quality", "What the data allow to say: gates, and records that were dropped or repaired.")
              .LeftOutIfNull(),
          F<&R::kernels>("kernels", "Durations of kernels, by name or as --group-by asks.").LeftOutIfNull(),
          F<&R::families>("families", "Durations of kernels by family.").LeftOutIfNull(),
          F<&R::collectives>("collectives",
                             "Collectives by group, operation, type and size: how many were matched, how long ranks "
                             "waited and moved data.")
              .LeftOutIfNull(),
          F<&R::skew>("skew", "Who arrived late and who waited: by rank, by step and, with --instances, by instance.")
              .LeftOutIfNull(),
          F<&R::overlap>("overlap",
                         "How the time of each rank divides into compute, communication, copies and idle time.")
              .LeftOutIfNull(),
          F<&R::imbalance>("imbalance", "How evenly work and time are spread over the ranks, and the POP efficiencies.")
              .LeftOutIfNull(),
          F<&R::tails>("tails", "Kernels that lose time in rare long instances, and where these are.").LeftOutIfNull(),
          F<&R::idle>("idle", "Why the device of each rank had nothing to do.").LeftOutIfNull(),
          F<&R::host>("host", "Calls of the CUDA runtime and driver.").LeftOutIfNull(),
          F<&R::launches>("launches", "Kernels with the calls that launched them.").LeftOutIfNull(),
          F<&R::nvtx>("nvtx", "NVTX ranges and profiler annotations, summed over the ranks.").LeftOutIfNull(),
          F<&R::memory>("memory", "Copies and memsets of the device.").LeftOutIfNull(),
          F<&R::allocation>("allocation", "Device memory over time; shown with the view memory.").LeftOutIfNull(),
          F<&R::steps>("steps", "Every step of every rank: its time, its parts, and why a slow one was slow.")
              .LeftOutIfNull(),
          F<&R::pace>("pace", "Progress of the ranks over time.").LeftOutIfNull(),
          F<&R::clock>("clock", "How the clocks of the hosts were aligned, and how well.").LeftOutIfNull(),
          F<&R::stragglers>("stragglers",
                            "Ranks, hosts, GPUs, rails, stages and communicators that are late more often or for "
                            "longer than chance explains.")
              .LeftOutIfNull(),
          F<&R::findings>("findings",
                          "What is wrong, with the numbers behind it, the likely cause and what to do next.")
              .LeftOutIfNull(),
          F<&R::profile>("profile",
                         "What `lockstep compare` needs of a run. It is shown only where it is asked for by name.")
              .LeftOutIfNull(),
          F<&R::pictures>("pictures",
                          "What the pages of --format html draw. It is shown only where it is asked for by name.")
              .LeftOutIfNull(),
      }};
  return record;
}

}  // namespace lockstep::report
