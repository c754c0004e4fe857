import FuzzTargets
import Glibc

@_silgen_name("LLVMFuzzerRunDriver")
private func runDriver(
    _ count: UnsafeMutablePointer<Int32>,
    _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>>,
    _ callback: @convention(c) (UnsafePointer<UInt8>?, Int) -> Int32
) -> Int32

/// The target, named by the environment: the arguments are libFuzzer's own, and its callback captures nothing.
private enum Chosen {
    static let target = getenv("FUZZ_TARGET").flatMap { FuzzTarget(rawValue: String(cString: $0)) }
}

if Chosen.target == nil {
    for target in FuzzTarget.allCases { print(target.rawValue) }
    exit(CommandLine.arguments.contains("--list") ? 0 : 2)
}

private var count = CommandLine.argc
private var arguments = CommandLine.unsafeArgv
exit(
    runDriver(&count, &arguments) { start, length in
        guard Chosen.target?.holds(Array(UnsafeBufferPointer(start: start, count: length))) == true else {
            fatalError("a property of the target does not hold")
        }
        return 0
    })
