import _Primitives

extension Timestamp {
    /// Reads the date format of servers (RFC 9110, section 5.6.7): `Sun, 06 Nov 1994 08:49:37 GMT`. `nil` for another
    /// text.
    init?(httpDate text: String) {
        let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
        let words = text.splitBytes(at: " ")
        guard text.utf8.count == 29, words.count == 6, words[5].hasSameBytes(as: "GMT"),
            let month = months.firstIndex(where: { $0.hasSameBytes(as: words[2]) }), let day = Int64(words[1]),
            let year = Int64(words[3]), (1...31).contains(day), (1970...9999).contains(year)
        else { return nil }
        let time = words[4].splitBytes(at: ":").compactMap { Int64($0) }
        guard time.count == 3, (0..<24).contains(time[0]), (0..<60).contains(time[1]), (0...60).contains(time[2]) else {
            return nil
        }
        // The formula counts days since 1970 in the Gregorian calendar. The year begins in March here, so that the leap
        // day is its last day.
        let (shifted, fromMarch) = month < 2 ? (year - 1, Int64(month) + 10) : (year, Int64(month) - 2)
        let days =
            shifted * 365 + shifted / 4 - shifted / 100 + shifted / 400 + (fromMarch * 153 + 2) / 5 + day - 719_469
        self.init(seconds: days * 86_400 + time[0] * 3600 + time[1] * 60 + time[2])
    }
}
