# Everything that a person or a machine runs here. `make` alone prints the list.

SHELL := /bin/bash
.DEFAULT_GOAL := help

# One build folder for both packages: what the server shares with the SDK is compiled once.
SWIFT_FLAGS := $(shell scripts/swift-flags)
SERVER_BUILD := cd Server && swift build $(SWIFT_FLAGS) --scratch-path ../.build
PROGRAMS := countersign countersign-phone bank

.PHONY: help demo test soak check bench build package release-check parity parity-mutate docs fuzz vectors format bare-machine mail-programs packages \
	test-packages

help: ## print this list
	@awk 'BEGIN { FS = ":.*## " } /^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: packages ## sign a person in and have a transfer confirmed, on this machine; stays up (CI=true: stops after the run)
	@for program in $(PROGRAMS); do ( $(SERVER_BUILD) --product $$program ) || exit 1; done
	@scripts/demo

test: test-packages ## run every test: SDK, server, vectors, browser, crash, operator, parity
	@scripts/test

soak: test-packages ## the long runs (kills, renewals, documents, draws, work) of which `make test` has short ones
	@for program in $(PROGRAMS); do ( $(SERVER_BUILD) --product $$program ) || exit 1; done
	@cd Benchmarks && swift build $(SWIFT_FLAGS) --scratch-path ../.build --product CountWork
	@scripts/soak

check: packages ## formatting, warnings as errors, imports, architecture, names, lengths, documents
	@scripts/check

bench: packages ## release build, then a table of measured numbers
	@scripts/install-packages release
	@scripts/bench

build: packages ## leave optimised programs in bin/
	@scripts/install-packages release
	@for program in $(PROGRAMS); do scripts/release-build Server $$program || exit 1; done
	@mkdir -p bin
	@cp $(PROGRAMS:%=.build-release/release/%) bin/
	@if command -v strip >/dev/null; then strip $(PROGRAMS:%=bin/%); fi
	@ls -l bin

package: build ## a Debian package of the server in bin/, whose program was installed, upgraded and run by its test
	@scripts/install-packages package
	@cd Tests/Operator && COUNTERSIGN_BINARIES="$(CURDIR)/bin" python3 -m unittest -q test_package
	@scripts/package bin/countersign bin

release-check: packages ## before a tag: tree, version, changelog, documents, the SDK's public API, package, start and memory
	@scripts/release-check

parity: ## check docs/parity/*.md against the last test run
	@scripts/parity

parity-mutate: test-packages ## apply N (10) of the rows' mutations at random and expect failing tests
	@scripts/parity-mutate $(or $(N),10)

docs: packages ## API reference and guides as static HTML in .build/docs
	@scripts/docs

fuzz: test-packages ## run each fuzz target for FUZZ_SECONDS (60)
	@scripts/fuzz $(or $(FUZZ_SECONDS),60)

vectors: test-packages ## make the test vectors of Tests/Vectors anew and judge them with the second implementation
	@scripts/vectors

bare-machine: ## `make demo` and `make test` on a Debian that has nothing else, and on one that has Apache, nginx, PostgreSQL
	@scripts/bare-machine

mail-programs: ## a letter by each mail program of the guide, under the packaged unit, in a Debian of its own (as root)
	@scripts/mail-under-the-unit

format: ## rewrite the sources as `make check` wants them
	@swift format -i -r -p $$(scripts/swift-sources)

packages:
	@scripts/install-packages build
	@scripts/resolve

test-packages:
	@scripts/install-packages build test
	@scripts/resolve
