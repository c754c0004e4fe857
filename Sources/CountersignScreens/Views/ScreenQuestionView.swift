#if canImport(SwiftUI)
    public import SwiftUI

    /// The screen of the question that waits; empty if none waits. Show the view above the app's own screens.
    @MainActor
    public struct ScreenQuestionView: View {
        private let questions: ScreenQuestions
        private let language: ScreenLanguage

        /// Creates the view of the questions, in a language.
        public init(_ questions: ScreenQuestions, language: ScreenLanguage) {
            self.questions = questions
            self.language = language
        }

        /// The screen.
        public var body: some View {
            ScrollView {
                VStack(spacing: 24) {
                    switch self.questions.question {
                    case .pin(let pad): PinPadView(pad, self.questions, self.language)
                    case .approval(let approval): ApprovalView(approval, self.questions, self.language)
                    case .number(let entry): NumberEntryView(entry, self.questions, self.language)
                    case .choice(let choice): ScreenChoiceView(choice, self.questions, self.language)
                    case nil: EmptyView()
                    }
                    if self.questions.question != nil {
                        if self.questions.canDeny {
                            Button(self.language.text(.notMe)) { self.questions.denyAsNotMe() }
                        }
                        Button(self.language.text(.cancel)) { self.questions.cancel() }
                    }
                }
                .padding()
            }
        }
    }

    /// A title that a screen reader announces as a heading.
    @MainActor
    struct ScreenTitle: View {
        let text: String

        var body: some View {
            Text(verbatim: self.text).font(.title2).multilineTextAlignment(.center).accessibilityAddTraits(.isHeader)
        }
    }

    /// A table of labels and values. A screen reader reads each line as one element.
    @MainActor
    struct ScreenTable: View {
        let rows: [Approval.Row]
        let language: ScreenLanguage

        var body: some View {
            VStack(alignment: .leading, spacing: 12) {
                ForEach(Array(self.rows.enumerated()), id: \.offset) { item in
                    VStack(alignment: .leading, spacing: 2) {
                        Text(verbatim: self.label(item.element)).font(.caption)
                        Text(verbatim: item.element.value).font(.body).textSelection(.enabled)
                    }
                    .accessibilityElement(children: .combine)
                }
            }
        }

        private func label(_ row: Approval.Row) -> String { row.label.map(self.language.text) ?? row.signedLabel }
    }

    /// The digits from 1 to 9 and 0, with a way to erase the last digit.
    @MainActor
    struct DigitPad: View {
        let questions: ScreenQuestions
        let language: ScreenLanguage

        var body: some View {
            VStack(spacing: 12) {
                ForEach([[1, 2, 3], [4, 5, 6], [7, 8, 9]], id: \.self) { row in
                    HStack(spacing: 24) { ForEach(row, id: \.self) { digit in self.key(digit) } }
                }
                HStack(spacing: 24) {
                    self.key(0)
                    Button(self.language.text(.erase)) { self.questions.erase() }
                }
            }
        }

        private func key(_ digit: Int) -> some View {
            Button("\(digit)") { self.questions.press(digit) }.font(.title).frame(minWidth: 64, minHeight: 48)
        }
    }
#endif
