import Foundation
import Store
import Testing
import _Primitives

@Suite("Sealing: values bound to purpose and row")
struct SealingTests {
    private let key = KeyEncryptionKey()
    private let purpose = SealingPurpose("test")

    @Test func aSealedValueOpensForItsPurposeAndRow() throws {
        let sealing = Sealing(self.key)
        let sealed = try sealing.seal("hello", purpose: self.purpose, row: "1")
        #expect(try sealing.openText(sealed, purpose: self.purpose, row: "1") == "hello")
        #expect(try Sealing(self.key).openText(sealed, purpose: self.purpose, row: "1") == "hello")
        #expect(sealed.count == 1 + 12 + 5 + 16)
        #expect(try sealing.seal("hello", purpose: self.purpose, row: "1") != sealed, "a nonce of its own each time")
    }

    @Test func itOpensForNothingElse() throws {
        let sealing = Sealing(self.key)
        let sealed = try sealing.seal("hello", purpose: self.purpose, row: "1")
        let corrupt = StoreError(.corrupt, "")
        #expect(throws: corrupt) { try sealing.open(sealed, purpose: self.purpose, row: "2") }
        #expect(throws: corrupt) { try sealing.open(sealed, purpose: SealingPurpose("other"), row: "1") }
        #expect(throws: corrupt) { try Sealing(KeyEncryptionKey()).open(sealed, purpose: self.purpose, row: "1") }
    }

    @Test func everyChangedByteIsSeen() throws {
        let sealing = Sealing(self.key)
        let sealed = try sealing.seal("hello", purpose: self.purpose, row: "1")
        for index in sealed.indices {
            var damaged = sealed
            damaged[index] ^= 1
            #expect(throws: StoreError(.corrupt, ""), "byte \(index)") {
                try sealing.open(damaged, purpose: self.purpose, row: "1")
            }
            #expect(throws: StoreError(.corrupt, ""), "\(index) bytes") {
                try sealing.open(sealed.prefix(index), purpose: self.purpose, row: "1")
            }
        }
    }

    @Test func bytesThatAreNoTextAreNotReadAsText() throws {
        let sealing = Sealing(self.key)
        let sealed = try sealing.seal([0xFF], purpose: self.purpose, row: "1")
        #expect(throws: StoreError(.corrupt, "")) { try sealing.openText(sealed, purpose: self.purpose, row: "1") }
    }

    @Test func aCodeDependsOnKeyAndPurpose() {
        let sealing = Sealing(self.key)
        #expect(
            sealing.code("123456", purpose: self.purpose) == Sealing(self.key).code("123456", purpose: self.purpose))
        #expect(sealing.code("123456", purpose: self.purpose) != sealing.code("123456", purpose: SealingPurpose("o")))
        #expect(
            sealing.code("123456", purpose: self.purpose)
                != Sealing(KeyEncryptionKey()).code("123456", purpose: self.purpose))
        #expect(sealing.code("123456", purpose: self.purpose) != Sealing.digest(ofSecret: "123456"))
    }
}

@Suite("Key-encryption key: a file for its owner alone")
struct KeyEncryptionKeyTests {
    private func path() -> String { FileManager.default.temporaryDirectory.path + "/key-" + UUID().uuidString }

    @Test func aKeyIsReadAsItWasWritten() throws {
        let path = self.path()
        defer { try? FileManager.default.removeItem(atPath: path) }
        let key = KeyEncryptionKey()
        try key.write(toNewFile: path)
        #expect(try KeyEncryptionKey(contentsOfFile: path) == key)
        let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? NSNumber
        #expect(mode?.intValue == 0o600)
        #expect(throws: StoreError(.conflict, "")) { try KeyEncryptionKey().write(toNewFile: path) }
        #expect(try KeyEncryptionKey(contentsOfFile: path) == key, "an existing key is never replaced")
    }

    @Test func aKeyThatCannotBeWrittenIsUnavailable() {
        #expect(throws: StoreError(.unavailable, "")) {
            try KeyEncryptionKey().write(toNewFile: self.path() + "/no-such-folder/key")
        }
    }

    @Test func nothingIsLeftBesideTheKey() throws {
        let folder = self.path()
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try Data("half a key".utf8).write(to: URL(fileURLWithPath: folder + "/key.new"))
        try KeyEncryptionKey().write(toNewFile: folder + "/key")
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == ["key"])
    }

    @Test func aMissingFileIsNotFound() {
        #expect(throws: StoreError(.notFound, "")) { try KeyEncryptionKey(contentsOfFile: self.path()) }
    }

    @Test func aFileThatOthersCanReadIsRefused() throws {
        let path = self.path()
        defer { try? FileManager.default.removeItem(atPath: path) }
        try KeyEncryptionKey().write(toNewFile: path)
        try FileManager.default.setAttributes([.posixPermissions: 0o640], ofItemAtPath: path)
        #expect(throws: StoreError(.invalidKey, "")) { try KeyEncryptionKey(contentsOfFile: path) }
    }

    @Test(arguments: ["", "short", String(repeating: "A", count: 44), String(repeating: "=", count: 43)])
    func aFileWithSomethingElseIsRefused(text: String) throws {
        let path = self.path()
        defer { try? FileManager.default.removeItem(atPath: path) }
        _ = FileManager.default.createFile(
            atPath: path, contents: Data(text.utf8), attributes: [.posixPermissions: 0o600])
        #expect(throws: StoreError(.invalidKey, "")) { try KeyEncryptionKey(contentsOfFile: path) }
    }
}
