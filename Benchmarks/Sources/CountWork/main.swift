import Foundation

/// Reads inputs for `scripts/work-tests`, each by its fuzz target, so that an outside counter of instructions measures
/// the cost of each input.
///
/// The argument is a file of lines: a target's name and an input's path with a tab between them. In valgrind, the
/// counter counts only ``countedReading(_:_:)`` and records the cost of each call.
private enum Reader {
    case shared(FuzzTarget)
    case server(ServerFuzzTarget)

    init?(_ name: String) {
        if let target = FuzzTarget(rawValue: name) {
            self = .shared(target)
        } else if let target = ServerFuzzTarget(rawValue: name) {
            self = .server(target)
        } else {
            return nil
        }
    }

    func holds(_ bytes: [UInt8]) -> Bool {
        switch self {
        case .shared(let target): target.holds(bytes)
        case .server(let target): target.holds(bytes)
        }
    }
}

/// Runs one reader on one input. The counter finds this function by name, and measures the function.
@inline(never)
private func countedReading(_ reader: Reader, _ bytes: [UInt8]) -> Bool { reader.holds(bytes) }

guard CommandLine.arguments.count == 2,
    let list = FileManager.default.contents(atPath: CommandLine.arguments[1])
else {
    FileHandle.standardError.write(Data("usage: CountWork FILE\n".utf8))
    exit(2)
}
private var warm: Set<String> = []
for line in String(decoding: list, as: UTF8.self).split(separator: "\n") {
    let parts = line.split(separator: "\t").map(String.init)
    guard parts.count == 2, let reader = Reader(parts[0]), let input = FileManager.default.contents(atPath: parts[1])
    else {
        FileHandle.standardError.write(Data("CountWork: not a target and an input: \(line)\n".utf8))
        exit(2)
    }
    // The first reading makes keys and tables, which are no cost of an input.
    if warm.insert(parts[0]).inserted { _ = reader.holds(Array(input)) }
    if !countedReading(reader, Array(input)) {
        FileHandle.standardError.write(Data("CountWork: a property does not hold: \(line)\n".utf8))
        exit(1)
    }
}
