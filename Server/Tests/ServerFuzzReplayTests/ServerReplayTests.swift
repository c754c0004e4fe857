import Foundation
import Testing

/// A file of `FuzzTesting/Replay/FailCases`: bytes that the server once judged wrongly.
private struct FailCase {
    let target: ServerFuzzTarget
    let name: String
    let bytes: [UInt8]

    static let all: [FailCase] = {
        let folder = URL(fileURLWithPath: #filePath)
            .deletingLastPathComponent().appendingPathComponent("../../../FuzzTesting/Replay/FailCases").standardized
        return ServerFuzzTarget.allCases.flatMap { target in
            let files = try? FileManager.default.contentsOfDirectory(
                at: folder.appendingPathComponent(target.rawValue), includingPropertiesForKeys: nil)
            return (files ?? []).compactMap { file in
                (try? Data(contentsOf: file)).map {
                    FailCase(target: target, name: file.lastPathComponent, bytes: Array($0))
                }
            }
        }
    }()
}

@Suite("uaf-sections §8: what the server judges is refused without harm, whatever the bytes are")
struct ServerReplayTests {
    @Test("Bytes that the server once judged wrongly")
    func failCases() {
        for failCase in FailCase.all {
            #expect(failCase.target.holds(failCase.bytes), "\(failCase.target.rawValue)/\(failCase.name)")
        }
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
