import Testing
import _Primitives

@Suite("RFC 8259, section 4: taking members from an object")
struct JSONTests {
    private let object: JSONObject = [
        "text": .string("a"), "whole": .integer(300), "fraction": .number(1.5), "flag": .bool(true),
        "list": .array([.string("x"), .string("y")]), "mixed": .array([.string("x"), .integer(1)]),
        "inner": .object(["a": .integer(1)]),
    ]

    @Test func membersOfTheRightTypeAreTaken() throws {
        #expect(try self.object.string("text") == "a")
        #expect(try self.object.requiredString("text") == "a")
        #expect(try self.object.integer("whole") == Int64(300))
        #expect(try self.object.requiredInteger("whole", as: UInt16.self) == 300)
        #expect(try self.object.bool("flag") == true)
        #expect(try self.object.array("mixed") == [.string("x"), .integer(1)])
        #expect(try self.object.strings("list") == ["x", "y"])
        #expect(try self.object.object("inner") == ["a": .integer(1)])
        #expect(try self.object.requiredObject("inner") == ["a": .integer(1)])
    }

    @Test func aMemberThatIsNotThereIsNil() throws {
        #expect(try self.object.string("no") == nil)
        #expect(try self.object.integer("no", as: Int.self) == nil)
        #expect(try self.object.bool("no") == nil)
        #expect(try self.object.array("no") == nil)
        #expect(try self.object.strings("no") == nil)
        #expect(try self.object.object("no") == nil)
    }

    @Test func aRequiredMemberThatIsNotThereIsMissing() {
        let missing = JSONError(.missing, "")
        #expect(throws: missing) { try self.object.requiredString("no") }
        #expect(throws: missing) { try self.object.requiredInteger("no", as: Int.self) }
        #expect(throws: missing) { try self.object.requiredObject("no") }
    }

    @Test func aMemberOfAnotherTypeIsRefused() {
        let wrong = JSONError(.wrongType, "")
        #expect(throws: wrong) { try self.object.string("whole") }
        #expect(throws: wrong) { try self.object.requiredString("flag") }
        #expect(throws: wrong) { try self.object.integer("text", as: Int.self) }
        #expect(throws: wrong) { try self.object.integer("fraction", as: Int.self) }
        #expect(throws: wrong) { try self.object.bool("whole") }
        #expect(throws: wrong) { try self.object.array("inner") }
        #expect(throws: wrong) { try self.object.strings("mixed") }
        #expect(throws: wrong) { try self.object.object("list") }
        #expect(throws: wrong) { try self.object.requiredObject("text") }
    }

    @Test func aNumberOutsideItsTypeIsRefused() {
        let wrong = JSONError(.wrongType, "")
        #expect(throws: wrong) { try self.object.integer("whole", as: UInt8.self) }
        let negative: JSONObject = ["n": .integer(-1)]
        #expect(throws: wrong) { try negative.requiredInteger("n", as: UInt64.self) }
    }

    @Test func settingAMemberReplacesItInItsPlace() {
        var object: JSONObject = ["a": .integer(1), "b": .integer(2)]
        object["a"] = .string("new")
        object["c"] = .bool(false)
        #expect(object.members.map(\.name) == ["a", "b", "c"])
        #expect(object["a"] == .string("new"))
        object["b"] = nil
        object["never"] = nil
        #expect(object.members.map(\.name) == ["a", "c"])
    }

    @Test func aNameGivenTwiceKeepsTheLastValue() {
        let object = JSONObject([("a", .integer(1)), ("a", .integer(2))])
        #expect(object.members.count == 1)
        #expect(object["a"] == .integer(2))
    }

    @Test func theOrderOfMembersDoesNotCountForEquality() {
        let one: JSONObject = ["a": .integer(1), "b": .integer(2)]
        let other: JSONObject = ["b": .integer(2), "a": .integer(1)]
        #expect(one == other)
        #expect(one.hashValue == other.hashValue)
        #expect(one != ["a": .integer(1), "b": .integer(3)])
        #expect(one != ["a": .integer(1)])
        #expect(one != ["a": .integer(1), "c": .integer(2)])
    }

    @Test func errorsAreEqualByCode() {
        #expect(JSONError(.missing, "name") == JSONError(.missing, "other"))
        #expect(JSONError(.missing, "name") != JSONError(.wrongType, "name"))
        #expect(Set([JSONError(.null, "a"), JSONError(.null, "b"), JSONError(.tooDeep, "a")]).count == 2)
        #expect(JSONError(.missing, "name").description == "JSONError.missing: name")
    }
}
