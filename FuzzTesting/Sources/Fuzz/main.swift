import FuzzTargets
import Glibc
import ServerFuzzTargets

@_silgen_name("LLVMFuzzerRunDriver")
private func runDriver(
    _ count: UnsafeMutablePointer<Int32>,
    _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>>,
    _ callback: @convention(c) (UnsafePointer<UInt8>?, Int) -> Int32
) -> Int32

/// The target, named by the environment: the arguments belong to libFuzzer, and its callback captures nothing.
private enum Chosen {
    static let name = getenv("FUZZ_TARGET").map { String(cString: $0) } ?? ""
    static let target = FuzzTarget(rawValue: Self.name)
    static let serverTarget = ServerFuzzTarget(rawValue: Self.name)

    static func holds(_ bytes: [UInt8]) -> Bool {
        Self.target?.holds(bytes) ?? Self.serverTarget?.holds(bytes) ?? false
    }
}

if Chosen.target == nil && Chosen.serverTarget == nil {
    for name in FuzzTarget.allCases.map(\.rawValue) + ServerFuzzTarget.allCases.map(\.rawValue) { print(name) }
    exit(CommandLine.arguments.contains("--list") ? 0 : 2)
}

private var count = CommandLine.argc
private var arguments = CommandLine.unsafeArgv
exit(
    runDriver(&count, &arguments) { start, length in
        guard Chosen.holds(Array(UnsafeBufferPointer(start: start, count: length))) else {
            fatalError("a property of the target does not hold")
        }
        return 0
    })
