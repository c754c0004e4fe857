import Crypto
import Foundation
import Records
import Sealing
import Settings
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
        #expect(sealed.count == 1 + 8 + 8 + 12 + 5 + 16)
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

    @Test("What was opened lately opens for its own purpose and row alone, and nothing opens in its place")
    func keptAtHand() throws {
        let often = SealingPurpose("often", isOpenedOften: true)
        let sealing = Sealing(self.key)
        let sealed = try sealing.seal("hello", purpose: often, row: "1")
        let other = try sealing.seal("other", purpose: often, row: "1")
        for _ in 0..<2 {
            #expect(try sealing.openText(sealed, purpose: often, row: "1") == "hello")
            #expect(try sealing.openText(other, purpose: often, row: "1") == "other")
            let corrupt = StoreError(.corrupt, "")
            #expect(throws: corrupt) { try sealing.open(sealed, purpose: often, row: "2") }
            #expect(throws: corrupt) { try sealing.open(sealed, purpose: often, row: "1\u{0}") }
            #expect(throws: corrupt) { try sealing.open(sealed, purpose: self.purpose, row: "1") }
            let another = SealingPurpose("another", isOpenedOften: true)
            #expect(throws: corrupt) { try sealing.open(sealed, purpose: another, row: "1") }
            for index in sealed.indices {
                var damaged = sealed
                damaged[index] ^= 1
                #expect(throws: corrupt, "byte \(index)") { try sealing.open(damaged, purpose: often, row: "1") }
            }
        }
        // Past the limit the first are opened anew, and say the same.
        for row in 0...Limits.Fixed.keptOpenedValues {
            _ = try sealing.open(
                try sealing.seal("x", purpose: often, row: String(row)), purpose: often, row: String(row))
        }
        #expect(try sealing.openText(sealed, purpose: often, row: "1") == "hello")
        #expect(throws: StoreError(.corrupt, "")) { try sealing.open(sealed, purpose: often, row: "2") }
    }

    @Test func aFormerKeyOpensWhatWasSealedUnderItAndSealsNothing() throws {
        let newest = KeyEncryptionKey()
        let former = try Sealing(self.key).seal("hello", purpose: self.purpose, row: "1")
        let both = Sealing(KeyRing(newest, former: [self.key]))
        #expect(try both.openText(former, purpose: self.purpose, row: "1") == "hello")
        let sealed = try both.seal("hello", purpose: self.purpose, row: "1")
        #expect(try Sealing(newest).openText(sealed, purpose: self.purpose, row: "1") == "hello")
        #expect(sealed.starts(with: both.newestHeader) && !former.starts(with: both.newestHeader))
        #expect(throws: StoreError(.corrupt, "")) {
            try Sealing(self.key).openText(sealed, purpose: self.purpose, row: "1")
        }
        #expect(throws: StoreError(.corrupt, "")) {
            try Sealing(newest).openText(former, purpose: self.purpose, row: "1")
        }
    }

    /// NIST SP 800-38D, section 8.3: no key ever seals so many values that two of its random nonces are likely the same.
    @Test func aKeySealsSoManyValuesAndNoMore() throws {
        let sealing = Sealing(KeyRing(self.key), messagesPerStretch: 3)
        var stretches: [ArraySlice<UInt8>] = []
        var sealed: [[UInt8]] = []
        for number in 0..<9 {
            let purpose = SealingPurpose("purpose \(number % 2)")
            sealed.append(try sealing.seal("\(number)", purpose: purpose, row: "1"))
            stretches.append(sealed[number][9..<17])
        }
        #expect(Set(stretches).count == 3, "three of each")
        #expect(stretches[0] == stretches[2] && stretches[2] != stretches[3])
        for (number, value) in sealed.enumerated() {
            let purpose = SealingPurpose("purpose \(number % 2)")
            #expect(try sealing.openText(value, purpose: purpose, row: "1") == "\(number)", "earlier stretches open")
            // The same bytes in another stretch: another key.
            var moved = value
            moved.replaceSubrange(9..<17, with: stretches[(number + 3) % 9])
            #expect(throws: StoreError(.corrupt, "")) { try sealing.open(moved, purpose: purpose, row: "1") }
        }
        let other = Sealing(self.key)
        #expect(try other.seal("x", purpose: self.purpose, row: "1")[9..<17] != stretches[8], "each process its own")
        #expect(try other.openText(sealed[0], purpose: SealingPurpose("purpose 0"), row: "1") == "0")
        #expect(Limits.Fixed.sealedPerStretch < 1 << 32)
    }

    @Test func whatOthersCarryHasAKeyForSoManyValuesToo() throws {
        let sealing = Sealing(KeyRing(self.key), epoch: "e", messagesPerStretch: 2)
        let carried = try (0..<6).map { try sealing.sealPassing([UInt8($0)], purpose: self.purpose, label: "label") }
        #expect(Set(carried.map { $0[1..<9] }).count == 3)
        for (number, value) in carried.enumerated() {
            #expect(sealing.openPassing(value, purpose: self.purpose, label: "label") == [UInt8(number)])
            #expect(sealing.openPassing(value, purpose: self.purpose, label: "other") == nil)
            #expect(sealing.openPassing(value, purpose: SealingPurpose("other"), label: "label") == nil)
            #expect(Sealing(self.key).openPassing(value, purpose: self.purpose, label: "label") == nil, "another epoch")
            for index in value.indices {
                var damaged = value
                damaged[index] ^= 1
                #expect(sealing.openPassing(damaged, purpose: self.purpose, label: "label") == nil)
                #expect(sealing.openPassing(value.prefix(index), purpose: self.purpose, label: "label") == nil)
            }
        }
    }

    @Test func whatOthersCarryOutlivesTheKey() throws {
        let root = SealingRoot()
        let before = Sealing(KeyRing(self.key), root: root, epoch: "e")
        let after = Sealing(KeyRing(KeyEncryptionKey()), root: root, epoch: "e")
        let carried = try before.sealPassing([7], purpose: self.purpose, label: "label")
        #expect(after.openPassing(carried, purpose: self.purpose, label: "label") == [7])
        #expect(after.code("name", purpose: self.purpose) == before.code("name", purpose: self.purpose))
        let other = Sealing(KeyRing(self.key), epoch: "e")
        #expect(other.openPassing(carried, purpose: self.purpose, label: "label") == nil)
    }

    /// As versions before sealed: under a key that follows from the key-encryption key and the purpose alone.
    @Test(arguments: ["", "epoch"])
    func whatEarlierVersionsSealedOpens(epoch: String) throws {
        let bytes = RandomSource.system.bytes(32)
        func key(_ purpose: String) -> SymmetricKey {
            HKDF<SHA256>.deriveKey(
                inputKeyMaterial: SymmetricKey(data: bytes), info: Data("countersign sealing 1 \(purpose)".utf8),
                outputByteCount: 32)
        }
        let sealing = Sealing(try KeyEncryptionKey(bytes), epoch: epoch)
        let row = try AES.GCM.seal(Data("hello".utf8), using: key("test"), authenticating: Data("test\0row".utf8))
        let kept = [1] + Array(try #require(row.combined))
        #expect(try sealing.openText(kept, purpose: self.purpose, row: "row") == "hello")
        #expect(throws: StoreError(.corrupt, "")) { try sealing.openText(kept, purpose: self.purpose, row: "other") }
        let carried = try AES.GCM.seal(
            Data([7]), using: key(epoch.isEmpty ? "test" : "test \(epoch)"), authenticating: Data("label".utf8))
        #expect(
            sealing.openPassing(try #require(carried.combined), purpose: self.purpose, label: "label") == [7])
        let code = Array(HMAC<SHA256>.authenticationCode(for: Data("name".utf8), using: key("test")))
        #expect(sealing.code("name", purpose: self.purpose) == code)
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
