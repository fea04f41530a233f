"""Random jobs whose late rank is known: named rightly, or told what cannot be told; never wrong and certain.

LOCKSTEP_SITUATIONS=N draws so many (default 60), LOCKSTEP_SEED=S begins at that seed. One that fails is played again by
`LOCKSTEP_SITUATIONS=1 LOCKSTEP_SEED=S`.
"""
import os
import shutil
import unittest

import situations
from support import TempDirTest

# Jobs without a cause in which somebody was named with certainty. They are not counted among the wrong ones, which are rare in
# jobs that were not chosen.
ONCE_WRONG = (610124, 610498, 610553, 610660, 610832, 700894, 1200709, 1200816, 1500317, 1900716, 2100061)
COUNT = int(os.environ.get("LOCKSTEP_SITUATIONS", "60"))
SEED = int(os.environ.get("LOCKSTEP_SEED", "1"))


class RandomJobs(TempDirTest):
    def test_the_late_rank_is_named_or_nobody_with_the_reason(self):
        wrong, certain, beyond = [], [], []
        seeds = (*ONCE_WRONG, *range(SEED, SEED + COUNT)) if SEED == 1 else range(SEED, SEED + COUNT)
        for seed in seeds:
            job = situations.draw_job(seed)
            answer = situations.ask(job, self.path("job"))
            shutil.rmtree(self.path("job"))
            told = f"seed {seed}: {answer.told} | {job.words()}"
            if answer.verdict == "certain and wrong":
                certain.append(told)
            if answer.verdict not in ("right", "silent") and seed not in ONCE_WRONG:
                wrong.append(told)
            if answer.wait_is_more:
                beyond.append(told)
        self.assertEqual(certain, [], "\n".join(certain))
        self.assertLessEqual(len(wrong), 0.02 * COUNT, "\n".join(wrong))
        self.assertEqual(beyond, [], "more waiting is told than there was:\n" + "\n".join(beyond))


if __name__ == "__main__":
    unittest.main()
