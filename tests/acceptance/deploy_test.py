"""The units and the container of deploy/: least privilege, limits, and flags that the programs have."""
import os
import re
import shutil
import subprocess
import unittest

from support import BIN, ROOT, TempDirTest, run

SYSTEMD = os.path.join(ROOT, "deploy", "systemd")
CONTAINER = os.path.join(ROOT, "deploy", "container")
DAEMONS = ["agent", "aggregator"]
# What a unit must say word for word.
SANDBOX = {
    "DynamicUser": "yes", "NoNewPrivileges": "yes", "CapabilityBoundingSet": "", "AmbientCapabilities": "", "ProtectSystem": "strict",
    "PrivateTmp": "yes", "PrivateDevices": "yes", "PrivateUsers": "yes", "ProtectKernelModules": "yes", "ProtectKernelTunables": "yes",
    "ProtectKernelLogs": "yes", "ProtectControlGroups": "yes", "ProtectClock": "yes", "ProtectHostname": "yes", "ProtectProc": "invisible",
    "RestrictNamespaces": "yes", "RestrictRealtime": "yes", "RestrictSUIDSGID": "yes", "LockPersonality": "yes",
    "MemoryDenyWriteExecute": "yes", "SystemCallArchitectures": "native", "RestrictAddressFamilies": "AF_INET AF_INET6 AF_UNIX",
    "UMask": "0077", "StateDirectoryMode": "0700", "LimitCORE": "0",
}
LIMITS = ["MemoryMax", "TasksMax", "LimitNOFILE", "TimeoutStopSec"]
WORST_EXPOSURE = 20  # of 100, as systemd-analyze security counts
# Units that the two refer to.
OTHER_UNITS = ["sysinit.target", "basic.target", "shutdown.target", "network-online.target", "multi-user.target", "system.slice", "-.slice"]


def unit_path(daemon):
    return os.path.join(SYSTEMD, f"lockstep-{daemon}.service")


def read(*path):
    with open(os.path.join(*path), encoding="utf-8") as file:
        return file.read()


def settings(daemon):
    """Name to the list of its values."""
    found = {}
    for line in read(unit_path(daemon)).splitlines():
        if "=" in line and not line.startswith("#"):
            name, value = line.split("=", 1)
            found.setdefault(name, []).append(value)
    return found


def known_flags(daemon):
    return set(re.findall(r"--[a-z][a-z-]*", run("lockstep-" + daemon, "--help").stdout))


def service(name):
    """The lines of one service of the compose file."""
    text = read(CONTAINER, "compose.yaml")
    return re.search(rf"^  {name}:\n((?:    .*\n|\n)+)", text, re.MULTILINE)[1]


class Units(TempDirTest):
    def test_run_without_privileges_and_with_limits(self):
        for daemon in DAEMONS:
            have = settings(daemon)
            for name, value in SANDBOX.items():
                self.assertEqual(have.get(name), [value], f"{daemon}: {name}")
            for name in LIMITS:
                self.assertEqual(len(have.get(name, [])), 1, f"{daemon}: {name}")
            self.assertEqual(have["SystemCallFilter"][0], "@system-service")
            self.assertIn("~@privileged", have["SystemCallFilter"][1])
            self.assertNotIn("User", have)
            self.assertFalse(any(value.startswith(("+", "!", "-")) for value in have["ExecStart"]))

    def test_give_only_flags_that_the_programs_have_and_no_secret(self):
        for daemon in DAEMONS:
            (command,) = settings(daemon)["ExecStart"]
            flags = re.findall(r"(?<=\s)--[a-z-]+", command)
            self.assertGreater(len(flags), 4)
            self.assertLessEqual(set(flags), known_flags(daemon))
            self.assertTrue(command.startswith(f"/usr/bin/lockstep-{daemon} "))
            self.assertIn("${STATE_DIRECTORY}", command)

    def test_leave_more_time_to_end_than_the_programs_take(self):
        for daemon in DAEMONS:
            drain = int(re.search(r"--drain-timeout (\d+)", settings(daemon)["ExecStart"][0])[1])
            self.assertGreaterEqual(int(settings(daemon)["TimeoutStopSec"][0]), drain + 10)
            grace = int(re.search(r"stop_grace_period: (\d+)s", service(daemon))[1])
            self.assertGreaterEqual(grace, drain + 10)

    def test_name_only_variables_that_are_set_or_must_be(self):
        for daemon in DAEMONS:
            text = read(unit_path(daemon))
            used = set(re.findall(r"\$\{?(LOCKSTEP_\w+)", settings(daemon)["ExecStart"][0]))
            documented = set(re.findall(r"LOCKSTEP_\w+(?==)|LOCKSTEP_\w+_OPTIONS", text.split("ExecStart")[0]))
            self.assertLessEqual(used, documented)

    def test_start_with_the_commands_they_give(self):
        """The command lines, with places of this machine put in, get as far as files that are not there."""
        for daemon, complaint in (("agent", "agent.token"), ("aggregator", "aggregator.crt")):
            command = settings(daemon)["ExecStart"][0]
            os.makedirs(self.path("state"), exist_ok=True)
            places = {"STATE_DIRECTORY": self.path("state"), "LOCKSTEP_AGGREGATOR": "127.0.0.1:1", "LOCKSTEP_RUN": "r",
                      "LOCKSTEP_LISTEN": "127.0.0.1:0", f"LOCKSTEP_{daemon.upper()}_OPTIONS": ""}
            for name in re.findall(r"LOCKSTEP_\w+", command):
                places.setdefault(name, self.path({"LOCKSTEP_TOKEN_FILE": "agent.token", "LOCKSTEP_TLS_CERT": "aggregator.crt"}.get(name, name)))
            line = re.sub(r"\$\{?(\w+)\}?", lambda name: places[name[1]], command)
            if daemon == "agent":
                line = re.sub(r"--tls-ca \S+", "", line)
            done = run(f"lockstep-{daemon}", *line.split()[1:])
            self.assertIn(done.returncode, (1, 2), done.stderr)
            self.assertIn(complaint, done.stderr)

    @unittest.skipUnless(shutil.which("systemd-analyze"), "SKIPPED LOUDLY: no systemd-analyze on this machine")
    def test_are_what_systemd_takes(self):
        units = self.path("root/etc/systemd/system")
        os.makedirs(units)
        os.makedirs(self.path("root/usr/bin"))
        for name in OTHER_UNITS:
            with open(os.path.join(units, name), "w", encoding="utf-8") as file:
                file.write("[Unit]\nDefaultDependencies=no\n")
        for daemon in DAEMONS:
            shutil.copy(unit_path(daemon), units)
            shutil.copy(os.path.join(BIN, f"lockstep-{daemon}"), self.path("root/usr/bin"))
        verified = subprocess.run(["systemd-analyze", "verify", "--root", self.path("root"), "--man=no",
                                   *(f"lockstep-{daemon}.service" for daemon in DAEMONS)], capture_output=True, text=True, check=False)
        self.assertEqual((verified.returncode, verified.stderr), (0, ""))
        for daemon in DAEMONS:
            rated = subprocess.run(["systemd-analyze", "security", "--offline=true", f"--threshold={WORST_EXPOSURE}", unit_path(daemon)],
                                   capture_output=True, text=True, check=False)
            self.assertEqual(rated.returncode, 0, rated.stdout[-400:] + rated.stderr)


class Container(unittest.TestCase):
    def test_runs_as_nobody_in_particular_without_a_shell(self):
        text = read(CONTAINER, "Containerfile")
        stages = re.split(r"(?m)^FROM ", text)[1:]
        self.assertEqual(len(stages), 2)
        self.assertTrue(stages[1].startswith("scratch"))
        user = re.search(r"(?m)^USER (\d+):(\d+)$", stages[1])
        self.assertTrue(user and int(user[1]) > 999 and int(user[2]) > 999)
        self.assertNotIn("ADD ", text)
        for copied in re.findall(r"(?m)^COPY (?!--from)(.*) \S+$", text):
            for path in copied.split():
                self.assertTrue(os.path.exists(os.path.join(ROOT, path)), path)

    def test_services_have_no_privileges_and_limits(self):
        for daemon in DAEMONS:
            text = service(daemon)
            for line in ("read_only: true", "cap_drop: [ALL]", 'security_opt: ["no-new-privileges:true"]', 'user: "65532:65532"'):
                self.assertIn(line, text)
            for name in ("mem_limit", "pids_limit", "ulimits", "stop_grace_period"):
                self.assertRegex(text, rf"(?m)^    {name}: ")
            for word in ("privileged", "cap_add", "network_mode", "docker.sock"):
                self.assertNotIn(word, text)
            mounts = re.findall(r"(?m)^      - (/\S+)$", text)
            self.assertTrue(mounts and all(mount.endswith(":ro") for mount in mounts))

    def test_services_give_only_flags_that_the_programs_have(self):
        for daemon in DAEMONS:
            flags = re.findall(r"(?m)^      - (--[a-z-]+)=", service(daemon))
            self.assertGreater(len(flags), 4)
            self.assertLessEqual(set(flags), known_flags(daemon))


if __name__ == "__main__":
    unittest.main()
