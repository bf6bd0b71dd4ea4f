"""The Debian packages, for all tests that look at them or install them: made once. Status 77: they cannot be made here."""
import os
import shutil
import subprocess
import sys

if not shutil.which("dpkg-shlibdeps"):
    print("dpkg-shlibdeps is not there")
    sys.exit(77)
packages = os.environ["KEVT_PACKAGES"]
shutil.rmtree(packages, ignore_errors=True)
done = subprocess.run([os.environ["KEVT_CPACK"], "-B", packages], cwd=os.environ["KEVT_BUILD"], check=False)
shutil.rmtree(os.path.join(packages, "_CPack_Packages"), ignore_errors=True)
sys.exit(done.returncode)
