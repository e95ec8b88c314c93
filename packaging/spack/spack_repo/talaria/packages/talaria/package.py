# SPDX-License-Identifier: BSD-3-Clause
import os

from spack_repo.builtin.build_systems.meson import MesonPackage

from spack.package import *


class Talaria(MesonPackage):
    """Remote procedure calls and bulk transfers for high-performance computing:
    the interface of Mercury over transport plugins that are loaded at run time."""

    # The tarball of `meson dist`, in the folder from which spack is called.
    manual_download = True
    url = f"file://{os.getcwd()}/talaria-0.1.0.tar.xz"

    license("BSD-3-Clause")

    version("0.1.0")

    variant("sm", default=True, description="Plugin sm: shared memory")
    variant("ofi", default=True, description="Plugin ofi: libfabric")
    variant("ucx", default=False, description="Plugin ucx: UCX")
    variant("mpi", default=False, description="Plugin mpi: within one mpirun")
    variant("hwloc", default=True, when="+ofi",
            description="The nearest of several devices is taken")
    variant("tools", default=True, description="The command talaria")
    variant("mercury", default=False,
            description="Also what programs look for by the name mercury")

    depends_on("c", type="build")
    depends_on("meson@1.0.1:", type="build")
    depends_on("pkgconfig", type="build")

    # Headers of jansson are part of the interface.
    depends_on("jansson")
    depends_on("xxhash")
    depends_on("libsodium")
    # Loaded by the plugin, with dlopen.
    depends_on("libfabric@1.17:", when="+ofi")
    depends_on("hwloc@2", when="+hwloc")
    depends_on("ucx@1.13:+thread_multiple", when="+ucx")
    depends_on("mpi", when="+mpi")
    requires("^openmpi", "^mpich", policy="one_of", when="+mpi",
             msg="the plugin mpi is built with Open MPI or MPICH")

    def meson_args(self):
        def feature(variant):
            on = self.spec.satisfies(f"+{variant}")
            return "enabled" if on else "disabled"

        mercury = str(self.spec.satisfies("+mercury")).lower()
        return [
            "-Dsm=" + feature("sm"),
            "-Dofi=" + feature("ofi"),
            "-Ducx=" + feature("ucx"),
            "-Dhwloc=" + feature("hwloc"),
            "-Dtools=" + feature("tools"),
            "-Dmercury_compat=" + mercury,
            "-Dtests=false",
        ]

    @run_after("install", when="+mpi")
    def install_plugin_mpi(self):
        """A project of its own, on what was just installed."""
        source = join_path(self.stage.source_path, "subprojects", "na-mpi")
        build = join_path(self.stage.path, "spack-build-na-mpi")
        openmpi = self.spec.satisfies("^openmpi")
        meson = which("meson", required=True)
        ninja = which("ninja", required=True)
        meson(
            "setup", source, build,
            f"-Dprefix={self.prefix}",
            f"-Dlibdir={self.prefix.lib}",
            f"-Dpkg_config_path={self.prefix.lib.pkgconfig}",
            f"-Dbuildtype={self.spec.variants['buildtype'].value}",
            "-Dmpi=" + ("ompi-c" if openmpi else "mpich"),
        )
        ninja("-C", build, "install")

    @property
    def libs(self):
        return find_libraries("libtalaria", root=self.prefix, recursive=True)
