import Foundation
import Testing

/// A file of `FuzzTesting/Replay/FailCases`: bytes that a reader, or the server, once judged wrongly.
private struct FailCase {
    let name: String
    let bytes: [UInt8]

    static let all: [FailCase] = {
        let folder = URL(fileURLWithPath: #filePath)
            .deletingLastPathComponent().appendingPathComponent("../../../FuzzTesting/Replay/FailCases").standardized
        let files = FileManager.default
        let targets = try? files.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
        return (targets ?? []).flatMap { target in
            let cases = try? files.contentsOfDirectory(at: target, includingPropertiesForKeys: nil)
            return (cases ?? []).compactMap { file in
                (try? Data(contentsOf: file)).map {
                    FailCase(name: "\(target.lastPathComponent)/\(file.lastPathComponent)", bytes: Array($0))
                }
            }
        }
    }()
}

@Suite("uaf-sections §8: what the server judges is refused without harm, whatever the bytes are")
struct ServerReplayTests {
    @Test("Bytes that were once judged wrongly, by whatever reader", arguments: ServerFuzzTarget.allCases)
    func failCases(target: ServerFuzzTarget) {
        #expect(!FailCase.all.isEmpty)
        for failCase in FailCase.all { #expect(target.holds(failCase.bytes), "\(failCase.name)") }
    }

    @Test("Bytes that are nothing in particular", arguments: ServerFuzzTarget.allCases)
    func small(target: ServerFuzzTarget) {
        #expect(target.holds([]))
        for byte in UInt8.min...UInt8.max {
            #expect(target.holds([byte]))
            #expect(target.holds([0x05, 0x2E, 0x02, 0x00, byte, byte]))
        }
        #expect(target.holds([UInt8](repeating: 0x30, count: 4096)))
    }
}
